package dev.granary.cache.constant;

import java.lang.ref.Reference;
import java.util.Objects;

/**
 * A promise to compute one tensor, given to one caller while others wait. The first of
 * {@link #fulfil}, {@link #fail} and {@link #close} ends it. Thread-safe: any thread may end it,
 * but its owner must not request the tensor itself meanwhile.
 *
 * <p>While the owner waits for another tensor, threads that wait for the promised one are part of
 * that wait. A cycle of such waits is an error.
 *
 * <p>A promise that is closed unfulfilled, or becomes unreachable and is garbage collected, is
 * abandoned: one of the waiting threads computes the tensor instead.
 *
 * @param <B> the back-end's type of a tensor
 */
public final class ConstantPromise<B extends AutoCloseable> implements AutoCloseable {
    private final ConstantTensorCache cache;
    private final ConstantSlot<B> slot;

    ConstantPromise(ConstantTensorCache cache, ConstantSlot<B> slot) {
        this.cache = cache;
        this.slot = slot;
        ConstantTensorCache.CLEANER.register(this, () -> cache.end(slot, null));
    }

    /**
     * Passes the tensor to the waiting threads, and to the cache if it accepts it. They own its
     * memory from now on.
     *
     * @return the caller's hold on the tensor, to be closed
     * @throws IllegalStateException if the promise has ended; the tensor stays the caller's
     */
    public ConstantHold<B> fulfil(B buffer) {
        try {
            return cache.fulfil(
                    slot, Objects.requireNonNull(buffer, "A promised constant is null"));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Reports to the waiting threads that the tensor cannot be computed, with the cause. Has no
     * effect if the promise has ended.
     */
    public void fail(Throwable cause) {
        try {
            cache.end(slot, Objects.requireNonNull(cause, "The cause of a failure is null"));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** Abandons the promise, unless it has ended. */
    @Override
    public void close() {
        cache.end(slot, null); // the cleaner, which also runs, finds it ended
    }
}
