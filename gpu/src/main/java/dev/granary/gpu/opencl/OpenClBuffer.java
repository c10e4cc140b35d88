package dev.granary.gpu.opencl;

import dev.granary.gpu.engine.Closer;
import dev.granary.gpu.engine.EngineBuffer;
import dev.granary.gpu.engine.NativeHandle;
import dev.granary.gpu.opencl.binding.MemoryCalls;

import org.lwjgl.opencl.CL10;

import java.lang.foreign.MemorySegment;

/**
 * A buffer of one OpenCL engine: a {@code cl_mem}. A launch in progress keeps the memory of a
 * buffer that is closed.
 */
public final class OpenClBuffer extends EngineBuffer<OpenClBuffer> {
    private final OpenClEngine engine;

    /** Creates a buffer over that memory, and takes over a reference to it. Requires a lease. */
    private OpenClBuffer(OpenClEngine engine, long memory, long bytes, boolean isPart) {
        super(
                engine.lifetime(),
                new NativeHandle(
                        engine.lifetime(),
                        "buffer",
                        memory,
                        engine.binding().memory()::releaseBuffer),
                bytes,
                isPart);
        this.engine = engine;
    }

    static OpenClBuffer create(OpenClEngine engine, long bytes) {
        checkSize(bytes);
        try (var _ = engine.lease()) {
            long context = engine.engineQueue().context();
            long memory = engine.binding().memory().createBuffer(context, bytes);
            return new OpenClBuffer(engine, memory, bytes, false);
        }
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

    /**
     * Returns the {@code cl_mem} for commands that the application enqueues itself. It is valid
     * until this buffer is closed.
     *
     * @throws IllegalStateException if this buffer or the engine is closed
     */
    public long handle() {
        try (var _ = engine.lease();
                Closer held = new Closer()) {
            return holdIn(engine.lifetime(), held);
        }
    }

    boolean isOf(OpenClEngine other) {
        return engine == other;
    }

    @Override
    protected OpenClBuffer part(NativeHandle whole, long offset, long size) {
        long part = engine.binding().memory().createSubBuffer(whole.get(), offset, size);
        return new OpenClBuffer(engine, part, size, true);
    }

    @Override
    protected void write(long held, MemorySegment from) {
        engine.binding().memory().writeBuffer(engine.engineQueue().handle(), held, from);
    }

    @Override
    protected void read(long held, MemorySegment into) {
        engine.binding().memory().readBuffer(engine.engineQueue().handle(), held, into);
    }
}
