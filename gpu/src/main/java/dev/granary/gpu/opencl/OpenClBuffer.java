package dev.granary.gpu.opencl;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.engine.Closer;
import dev.granary.gpu.engine.NativeHandle;
import dev.granary.gpu.opencl.binding.MemoryCalls;

import org.lwjgl.opencl.CL10;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A buffer of one OpenCL engine: a {@code cl_mem}. A launch in progress keeps the memory of a
 * buffer that is closed.
 */
public final class OpenClBuffer implements DeviceBuffer {
    private final OpenClEngine engine;
    private final long bytes;
    private final NativeHandle handle;
    private final boolean isPart;
    private final AtomicBoolean isClosed = new AtomicBoolean();

    OpenClBuffer(OpenClEngine engine, long bytes) {
        if (bytes <= 0) {
            throw new IllegalArgumentException("A buffer needs a positive size, not " + bytes);
        }
        this.engine = engine;
        this.bytes = bytes;
        this.isPart = false;
        try (var _ = engine.lease()) {
            long context = engine.engineQueue().context();
            this.handle = handle(engine, engine.binding().memory().createBuffer(context, bytes));
        }
    }

    private OpenClBuffer(OpenClBuffer whole, long offset, long bytes) {
        this.engine = whole.engine;
        this.bytes = bytes;
        this.isPart = true;
        try (var _ = engine.lease();
                Closer held = new Closer()) {
            MemoryCalls calls = engine.binding().memory();
            this.handle = handle(
                    engine, calls.createSubBuffer(whole.holdIn(engine, held), offset, bytes));
        }
    }

    /** Creates a buffer over memory of the application. Requires an engine lease. */
    private OpenClBuffer(OpenClEngine engine, long memory, long bytes, boolean isPart) {
        this.engine = engine;
        this.bytes = bytes;
        this.isPart = isPart;
        this.handle = handle(engine, memory);
    }

    /** Returns a buffer over memory of the application, which it retains. */
    static OpenClBuffer wrap(OpenClEngine engine, long memory) {
        if (memory == 0) {
            throw new IllegalArgumentException("The memory (cl_mem) is 0");
        }
        MemoryCalls calls = engine.binding().memory();
        try (var _ = engine.lease()) {
            if (calls.memoryContext(memory) != engine.engineQueue().context()) {
                throw new IllegalArgumentException(
                        "The memory belongs to another context than the engine");
            }
            if (calls.memoryType(memory) != CL10.CL_MEM_OBJECT_BUFFER) {
                throw new IllegalArgumentException(
                        "The memory is no buffer but an image or a pipe");
            }
            long bytes = calls.memorySize(memory);
            boolean isPart = calls.isSubBuffer(memory);
            calls.retainBuffer(memory);
            return new OpenClBuffer(engine, memory, bytes, isPart);
        }
    }

    private static NativeHandle handle(OpenClEngine engine, long buffer) {
        return new NativeHandle(
                engine.lifetime(), "buffer", buffer, engine.binding().memory()::releaseBuffer);
    }

    @Override
    public long byteSize() {
        return bytes;
    }

    /**
     * Returns the {@code cl_mem} for commands that the application enqueues itself. It is valid
     * until this buffer is closed.
     *
     * @throws IllegalStateException if this buffer or the engine is closed
     */
    public long handle() {
        try (var _ = engine.lease();
                Closer held = new Closer()) {
            return holdIn(engine, held);
        }
    }

    @Override
    public OpenClBuffer slice(long offset, long bytes) {
        if (offset < 0 || bytes <= 0 || bytes > this.bytes - offset) {
            throw new IllegalArgumentException(
                    bytes + " bytes from " + offset + " are not inside a buffer of " + this.bytes);
        }
        if (isPart) {
            throw new IllegalArgumentException(
                    "A part of a buffer has no parts: slice the whole buffer");
        }
        return new OpenClBuffer(this, offset, bytes);
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
        if (!isClosed.getAndSet(true)) {
            handle.release();
        }
    }

    boolean isOf(OpenClEngine other) {
        return engine == other;
    }

    /**
     * Holds the buffer for a use in {@code user}, and returns its native handle. Requires a lease
     * of that engine.
     *
     * @param held ends the use when it is closed
     * @throws IllegalArgumentException if the buffer belongs to another engine
     * @throws IllegalStateException if it is closed
     */
    long holdIn(OpenClEngine user, Closer held) {
        if (engine != user) {
            throw new IllegalArgumentException(
                    "The buffer belongs to another engine, on " + engine.device());
        }
        if (isClosed.get() || !handle.retain()) {
            throw new IllegalStateException("The buffer is closed");
        }
        held.add(handle::release);
        return handle.get();
    }

    @Override
    public void writeFrom(MemorySegment from) {
        checkFits(from);
        try (var _ = engine.lease();
                Closer held = new Closer();
                Arena arena = Arena.ofConfined()) {
            MemorySegment staging = arena.allocate(from.byteSize()).copyFrom(from);
            engine.binding()
                    .memory()
                    .writeBuffer(engine.engineQueue().handle(), holdIn(engine, held), staging);
        }
    }

    @Override
    public void readTo(MemorySegment into) {
        checkFits(into);
        try (var _ = engine.lease();
                Closer held = new Closer();
                Arena arena = Arena.ofConfined()) {
            MemorySegment staging = arena.allocate(into.byteSize());
            engine.binding()
                    .memory()
                    .readBuffer(engine.engineQueue().handle(), holdIn(engine, held), staging);
            into.copyFrom(staging);
        }
    }

    private void checkFits(MemorySegment memory) {
        if (memory.byteSize() > bytes || memory.byteSize() == 0) {
            throw new IllegalArgumentException("A transfer of " + memory.byteSize()
                    + " bytes does not fit a buffer of " + bytes);
        }
    }
}
