package dev.granary.gpu.opencl;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * A piece of an engine's device memory. Transfers block until they are done. Not thread-safe; must be closed before its engine, or is
 * closed with it.
 */
public final class OpenClBuffer implements AutoCloseable {
    private final OpenClEngine engine;
    private final long bytes;
    private long handle;

    OpenClBuffer(OpenClEngine engine, long bytes) {
        if (bytes <= 0) {
            throw new IllegalArgumentException("A buffer needs a positive size, not " + bytes);
        }
        this.engine = engine;
        this.bytes = bytes;
        this.handle = engine.binding().createBuffer(engine.context(), bytes);
    }

    /** The size in bytes. */
    public long byteSize() {
        return bytes;
    }

    /** Fills {@code into} from the start of the buffer. */
    public void read(float[] into) {
        readTo(MemorySegment.ofArray(into));
    }

    /** Fills {@code into} from the start of the buffer. */
    public void read(int[] into) {
        readTo(MemorySegment.ofArray(into));
    }

    /** Fills {@code into} from the start of the buffer. */
    public void read(byte[] into) {
        readTo(MemorySegment.ofArray(into));
    }

    /** Writes {@code from} to the start of the buffer. */
    public void write(float[] from) {
        writeFrom(MemorySegment.ofArray(from));
    }

    /** Writes {@code from} to the start of the buffer. */
    public void write(int[] from) {
        writeFrom(MemorySegment.ofArray(from));
    }

    /** Writes {@code from} to the start of the buffer. */
    public void write(byte[] from) {
        writeFrom(MemorySegment.ofArray(from));
    }

    @Override
    public void close() {
        if (handle != 0) {
            engine.binding().releaseBuffer(handle);
            handle = 0;
        }
    }

    long handle() {
        if (handle == 0) {
            throw new IllegalStateException("The buffer is closed");
        }
        return handle;
    }

    void writeFrom(MemorySegment from) {
        checkFits(from);
        try (Arena arena = Arena.ofConfined()) {
            engine.binding().writeBuffer(engine.queue(), handle(), arena.allocate(from.byteSize()).copyFrom(from));
        }
    }

    private void readTo(MemorySegment into) {
        checkFits(into);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment staging = arena.allocate(into.byteSize());
            engine.binding().readBuffer(engine.queue(), handle(), staging);
            into.copyFrom(staging);
        }
    }

    private void checkFits(MemorySegment memory) {
        if (memory.byteSize() > bytes || memory.byteSize() == 0) {
            throw new IllegalArgumentException("A transfer of " + memory.byteSize() + " bytes does not fit a buffer of " + bytes);
        }
    }
}
