package dev.granary.gpu.levelzero;

import dev.granary.gpu.engine.Closer;
import dev.granary.gpu.engine.EngineBuffer;
import dev.granary.gpu.engine.EngineLifetime;
import dev.granary.gpu.engine.NativeHandle;

import java.lang.foreign.MemorySegment;

/**
 * A buffer of one Level Zero engine: memory of its device. A slice keeps the memory of a buffer
 * that is closed.
 */
public final class LevelZeroBuffer extends EngineBuffer<LevelZeroBuffer> {
    private final LevelZeroEngine engine;
    private final long offset;

    private LevelZeroBuffer(
            LevelZeroEngine engine, NativeHandle memory, long offset, long bytes, boolean isPart) {
        super(engine.context().lifetime(), memory, bytes, isPart);
        this.engine = engine;
        this.offset = offset;
    }

    static LevelZeroBuffer allocate(LevelZeroEngine engine, long bytes) {
        checkSize(bytes);
        ZeContext context = engine.context();
        try (var _ = context.lease()) {
            long address =
                    context.contexts.allocate(context.handle(), context.device().handle(), bytes);
            NativeHandle handle = context.own(
                    "buffer", address, memory -> context.contexts.free(context.handle(), memory));
            return new LevelZeroBuffer(engine, handle, 0, bytes, false);
        }
    }

    @Override
    protected LevelZeroBuffer part(NativeHandle whole, long start, long size) {
        whole.retain();
        return new LevelZeroBuffer(engine, whole, start, size, true);
    }

    @Override
    protected long holdIn(EngineLifetime user, Closer held) {
        return super.holdIn(user, held) + offset;
    }

    @Override
    protected void write(long held, MemorySegment from) {
        engine.copy(held, from.address(), from.byteSize());
    }

    @Override
    protected void read(long held, MemorySegment into) {
        engine.copy(into.address(), held, into.byteSize());
    }
}
