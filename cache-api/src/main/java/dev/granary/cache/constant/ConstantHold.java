package dev.granary.cache.constant;

import java.util.Objects;

/**
 * A reference of one user to a tensor. The tensor stays valid until the hold is closed, even if the
 * cache evicts it. Thread-safe.
 *
 * <p>A holder may reuse it in later executions without another lookup while {@link #isCached()} or
 * until {@link #onEviction} reports an eviction. After that the holder should close it when its
 * current work is done, so that the memory is freed. A hold that is never closed retains the
 * memory.
 *
 * @param <B> the back-end's type of a tensor
 */
public final class ConstantHold<B extends AutoCloseable> implements AutoCloseable {
    private final ConstantTensorCache cache;
    private final ConstantSlot<B> slot;
    volatile boolean isClosed; // written under the lock of the cache

    ConstantHold(ConstantTensorCache cache, ConstantSlot<B> slot) {
        this.cache = cache;
        this.slot = slot;
    }

    /**
     * Returns the tensor. It is shared: it may only be read, and must not be closed.
     *
     * @throws IllegalStateException if this hold is closed
     */
    public B buffer() {
        if (isClosed) {
            throw new IllegalStateException("The constant is closed");
        }
        return Objects.requireNonNull(slot.buffer);
    }

    /** Returns true while the tensor is in the cache. */
    public boolean isCached() {
        return slot.isCached;
    }

    /**
     * Runs {@code action} once when the tensor leaves the cache: evicted, removed, flushed or with
     * its context. It runs on the thread that removes the tensor, without a lock of the cache. If
     * the tensor is not cached, it runs at once on this thread. Exceptions of the action are
     * logged. The action of a closed hold is not run.
     */
    public void onEviction(Runnable action) {
        cache.addListener(slot, this, action);
    }

    /**
     * Releases the hold. The last user of a tensor that is not cached frees it. Further calls have
     * no effect.
     */
    @Override
    public void close() {
        cache.close(slot, this);
    }
}
