package dev.granary.gpu.opencl;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * A piece of an engine's device memory. Transfers block until they are done. Not thread-safe. Closed with its engine, if not before; what
 * is called afterwards is an {@link IllegalStateException}.
 */
public final class OpenClBuffer implements AutoCloseable {
    private final OpenClEngine engine;
    private final long bytes;
    private final NativeHandle handle;

    OpenClBuffer(OpenClEngine engine, long bytes) {
        if (bytes <= 0) {
            throw new IllegalArgumentException("A buffer needs a positive size, not " + bytes);
        }
        this.engine = engine;
        this.bytes = bytes;
        try (var _ = engine.use()) {
            this.handle = new NativeHandle(
                    engine, "buffer", engine.binding().createBuffer(engine.context(), bytes), engine.binding()::releaseBuffer);
        }
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
        handle.release();
    }

    boolean isOf(OpenClEngine other) {
        return engine == other;
    }

    /**
     * The native handle for an argument of a kernel in {@code user}; only while that engine is in use.
     *
     * @throws IllegalArgumentException if the buffer is another engine's
     */
    long handleIn(OpenClEngine user) {
        if (engine != user) {
            throw new IllegalArgumentException("The buffer belongs to another engine, on " + engine.device());
        }
        return handle.get();
    }

    void writeFrom(MemorySegment from) {
        checkFits(from);
        try (var _ = engine.use(); Arena arena = Arena.ofConfined()) {
            engine.binding().writeBuffer(engine.queue(), handle.get(), arena.allocate(from.byteSize()).copyFrom(from));
        }
    }

    private void readTo(MemorySegment into) {
        checkFits(into);
        try (var _ = engine.use(); Arena arena = Arena.ofConfined()) {
            MemorySegment staging = arena.allocate(into.byteSize());
            engine.binding().readBuffer(engine.queue(), handle.get(), staging);
            into.copyFrom(staging);
        }
    }

    private void checkFits(MemorySegment memory) {
        if (memory.byteSize() > bytes || memory.byteSize() == 0) {
            throw new IllegalArgumentException("A transfer of " + memory.byteSize() + " bytes does not fit a buffer of " + bytes);
        }
    }
}
