package dev.granary.cache.constant;

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
    private final ConstantTensor<B> tensor;
    private volatile boolean isClosed;
    private volatile boolean hasListener;

    ConstantHold(ConstantTensor<B> tensor) {
        this.tensor = tensor;
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
        return tensor.buffer();
    }

    /** Returns true while the tensor is in the cache. */
    public boolean isCached() {
        return tensor.isCached();
    }

    /**
     * Runs {@code action} once when the tensor leaves the cache: evicted, removed, flushed or with
     * its context. It runs on the thread that removes the tensor, without a lock of the cache. If
     * the tensor is not cached, it runs at once on this thread. Exceptions of the action are
     * logged. The action of a closed hold is not run.
     */
    public void onEviction(Runnable action) {
        if (isClosed) {
            return;
        }
        hasListener = true;
        if (!tensor.addListener(this, action)) {
            ConstantTensor.runCallback(action);
        } else if (isClosed) {
            tensor.removeListener(this);
        }
    }

    /**
     * Releases the hold. The last user of a tensor that is not cached frees it. Further calls have
     * no effect.
     */
    @Override
    public void close() {
        synchronized (this) { // an atomic boolean would be one more object per hit
            if (isClosed) {
                return;
            }
            isClosed = true;
        }
        if (hasListener) {
            tensor.removeListener(this);
        }
        tensor.release();
    }
}
