package dev.granary.gpu.levelzero;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.engine.Closer;
import dev.granary.gpu.engine.NativeHandle;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A buffer of one Level Zero engine: memory of its device. A slice keeps the memory of a buffer
 * that is closed.
 */
public final class LevelZeroBuffer implements DeviceBuffer {
    private final LevelZeroEngine engine;
    private final NativeHandle memory;
    private final long offset;
    private final long bytes;
    private final boolean isPart;
    private final AtomicBoolean isClosed = new AtomicBoolean();

    private LevelZeroBuffer(
            LevelZeroEngine engine, NativeHandle memory, long offset, long bytes, boolean isPart) {
        this.engine = engine;
        this.memory = memory;
        this.offset = offset;
        this.bytes = bytes;
        this.isPart = isPart;
    }

    static LevelZeroBuffer allocate(LevelZeroEngine engine, long bytes) {
        if (bytes <= 0) {
            throw new IllegalArgumentException("A buffer needs a positive size, not " + bytes);
        }
        ZeContext context = engine.context();
        try (var _ = context.lease()) {
            long address = context.calls()
                    .contexts()
                    .allocate(context.handle(), context.device().handle(), bytes);
            NativeHandle handle = context.own("buffer", address, memory -> context.calls()
                    .contexts()
                    .free(context.handle(), memory));
            return new LevelZeroBuffer(engine, handle, 0, bytes, false);
        }
    }

    @Override
    public long byteSize() {
        return bytes;
    }

    @Override
    public LevelZeroBuffer slice(long offset, long bytes) {
        if (offset < 0 || bytes <= 0 || bytes > this.bytes - offset) {
            throw new IllegalArgumentException(
                    bytes + " bytes from " + offset + " are not inside a buffer of " + this.bytes);
        }
        if (isPart) {
            throw new IllegalArgumentException(
                    "A part of a buffer has no parts: slice the whole buffer");
        }
        try (var _ = engine.context().lease()) {
            if (isClosed.get() || !memory.retain()) {
                throw new IllegalStateException("The buffer is closed");
            }
            return new LevelZeroBuffer(engine, memory, offset, bytes, true);
        }
    }

    @Override
    public void writeFrom(MemorySegment from) {
        checkFits(from);
        try (var _ = engine.context().lease();
                Closer held = new Closer();
                Arena arena = Arena.ofConfined()) {
            MemorySegment staging = arena.allocate(from.byteSize()).copyFrom(from);
            engine.copy(holdIn(engine, held), staging.address(), from.byteSize());
        }
    }

    @Override
    public void readTo(MemorySegment into) {
        checkFits(into);
        try (var _ = engine.context().lease();
                Closer held = new Closer();
                Arena arena = Arena.ofConfined()) {
            MemorySegment staging = arena.allocate(into.byteSize());
            engine.copy(staging.address(), holdIn(engine, held), into.byteSize());
            into.copyFrom(staging);
        }
    }

    @Override
    public void close() {
        if (!isClosed.getAndSet(true)) {
            memory.release();
        }
    }

    /**
     * Holds the memory for a use in {@code user}, and returns its address. Requires a lease of that
     * engine.
     *
     * @param held ends the use when it is closed
     * @throws IllegalArgumentException if the buffer belongs to another engine
     * @throws IllegalStateException if it is closed
     */
    long holdIn(LevelZeroEngine user, Closer held) {
        if (engine != user) {
            throw new IllegalArgumentException(
                    "The buffer belongs to another engine, on " + engine.device());
        }
        if (isClosed.get() || !memory.retain()) {
            throw new IllegalStateException("The buffer is closed");
        }
        held.add(memory::release);
        return memory.get() + offset;
    }

    private void checkFits(MemorySegment segment) {
        if (segment.byteSize() > bytes || segment.byteSize() == 0) {
            throw new IllegalArgumentException("A transfer of " + segment.byteSize()
                    + " bytes does not fit a buffer of " + bytes);
        }
    }
}
