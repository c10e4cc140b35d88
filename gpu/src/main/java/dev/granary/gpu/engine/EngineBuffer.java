package dev.granary.gpu.engine;

import dev.granary.gpu.DeviceBuffer;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The common part of the buffers of all back-ends: checks, holds and transfers. Only
 * {@link #close()} is thread-safe.
 *
 * @param <B> the type of its slices
 */
public abstract class EngineBuffer<B extends EngineBuffer<B>> implements DeviceBuffer {
    private final EngineLifetime lifetime;
    private final NativeHandle memory;
    private final long bytes;
    private final boolean isPart;
    private final AtomicBoolean isClosed = new AtomicBoolean();

    /**
     * Takes over the caller's reference to the memory.
     *
     * @param lifetime the lifetime of the buffer's engine
     */
    protected EngineBuffer(
            EngineLifetime lifetime, NativeHandle memory, long bytes, boolean isPart) {
        this.lifetime = lifetime;
        this.memory = memory;
        this.bytes = bytes;
        this.isPart = isPart;
    }

    /** Returns a part of that memory. Requires an engine lease and a reference to the memory. */
    protected abstract B part(NativeHandle whole, long offset, long size);

    /** Copies all of {@code from} to the start of the memory that {@link #holdIn} returned. */
    protected abstract void write(long held, MemorySegment from);

    /** Fills {@code into} from the start of the memory that {@link #holdIn} returned. */
    protected abstract void read(long held, MemorySegment into);

    /**
     * Checks the size of a new buffer.
     *
     * @throws IllegalArgumentException if it is not positive
     */
    protected static void checkSize(long bytes) {
        if (bytes <= 0) {
            throw new IllegalArgumentException("A buffer needs a positive size, not " + bytes);
        }
    }

    /**
     * Holds the memory for a use in {@code user}, and returns its native handle. Requires a lease
     * of that engine.
     *
     * @param held ends the use when it is closed
     * @throws IllegalArgumentException if the buffer belongs to another engine
     * @throws IllegalStateException if it is closed
     */
    protected long holdIn(EngineLifetime user, Closer held) {
        if (lifetime != user) {
            throw new IllegalArgumentException(
                    "The buffer belongs to another engine, on " + lifetime.device());
        }
        if (isClosed.get() || !memory.retain()) {
            throw new IllegalStateException("The buffer is closed");
        }
        held.add(memory::release);
        return memory.get();
    }

    @Override
    public final long byteSize() {
        return bytes;
    }

    @Override
    public final B slice(long offset, long size) {
        if (offset < 0 || size <= 0 || size > bytes - offset) {
            throw new IllegalArgumentException(
                    size + " bytes from " + offset + " are not inside a buffer of " + bytes);
        }
        if (isPart) {
            throw new IllegalArgumentException(
                    "A part of a buffer has no parts: slice the whole buffer");
        }
        try (var _ = lifetime.lease();
                Closer held = new Closer()) {
            holdIn(lifetime, held);
            return part(memory, offset, size);
        }
    }

    @Override
    public final void writeFrom(MemorySegment from) {
        checkFits(from);
        try (var _ = lifetime.lease();
                Closer held = new Closer();
                Arena arena = Arena.ofConfined()) {
            write(holdIn(lifetime, held), arena.allocate(from.byteSize()).copyFrom(from));
        }
    }

    @Override
    public final void readTo(MemorySegment into) {
        checkFits(into);
        try (var _ = lifetime.lease();
                Closer held = new Closer();
                Arena arena = Arena.ofConfined()) {
            MemorySegment staging = arena.allocate(into.byteSize());
            read(holdIn(lifetime, held), staging);
            into.copyFrom(staging);
        }
    }

    private void checkFits(MemorySegment segment) {
        if (segment.byteSize() > bytes || segment.byteSize() == 0) {
            throw new IllegalArgumentException("A transfer of " + segment.byteSize()
                    + " bytes does not fit a buffer of " + bytes);
        }
    }

    @Override
    public final void close() {
        if (!isClosed.getAndSet(true)) {
            memory.release();
        }
    }
}
