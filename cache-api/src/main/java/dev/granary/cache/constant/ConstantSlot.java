package dev.granary.cache.constant;

import dev.granary.cache.constant.ConstantTensorCache.Lookup;
import dev.granary.cache.support.WaitGraph;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The state of one key: promised by one thread, and at the end completed with a tensor, failed or
 * abandoned. Mutable fields without a comment are guarded by the lock of the cache.
 *
 * <p>The cache writes the fields directly, because a failed promise must end without a call if the
 * stack is exhausted. A waiting thread may therefore miss its wake-up, and looks every 250 ms.
 */
final class ConstantSlot<B extends AutoCloseable> implements WaitGraph.Build {
    private static final long RECHECK_NANOS = 250_000_000;

    final ConstantTensorCache.Key<B> key;
    final long bytes;
    // Null once the slot has ended, so that a cached tensor does not retain its thread.
    volatile @Nullable Thread builder = Thread.currentThread();
    volatile @Nullable ConstantTensor<B> tensor; // null until it is completed
    volatile @Nullable Throwable failure;
    volatile long lastUse = -1; // by the clock of the cache; volatile, since hits take no lock
    boolean isOpen; // promised, and not counted as ended
    boolean isReserved;
    long startNanos;
    long costNanos;
    private int waiters; // guarded by this

    ConstantSlot(ConstantTensorCache.Key<B> key, long bytes) {
        this.key = key;
        this.bytes = bytes;
    }

    @Override
    public @Nullable Thread builder() {
        return builder;
    }

    boolean isCached() {
        ConstantTensor<B> completed = tensor;
        return completed != null && completed.isCached();
    }

    /** Returns true if the slot has ended and is not cached: its cache should have removed it. */
    boolean isLeftByError() {
        return builder == null && !isCached();
    }

    /** Returns the number of waiting threads while the slot is promised. */
    synchronized int waiting() {
        return builder == null ? 0 : waiters;
    }

    /**
     * Waits for another thread's tensor. A thread whose wait began before the completion gets a
     * hold, even if the tensor is not cached.
     *
     * @return the tensor or the failure; null if the promise was abandoned, or ended before the
     *     wait began
     * @throws TimeoutException if the timeout has elapsed, or this thread was interrupted and keeps
     *     its interrupt status
     */
    synchronized @Nullable Lookup<B> await(Duration timeout) throws TimeoutException {
        if (builder == null) {
            return null;
        }
        waiters++;
        try {
            awaitEnd(System.nanoTime() + timeout.toNanos());
        } catch (Throwable e) {
            waiters--;
            throw e;
        }
        ConstantTensor<B> completed = tensor;
        Throwable cause = failure;
        return completed != null
                ? new Lookup.Hit<>(completed.countedHold())
                : cause != null ? new Lookup.Failed<>(cause) : null;
    }

    private void awaitEnd(long deadlineNanos) throws TimeoutException {
        while (builder != null) {
            long left = deadlineNanos - System.nanoTime();
            if (left <= 0 || Thread.currentThread().isInterrupted()) {
                throw new TimeoutException();
            }
            try {
                TimeUnit.NANOSECONDS.timedWait(this, Math.min(left, RECHECK_NANOS));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * Completes the slot. The tensor is shared by its builder, the waiting threads and, if it is
     * cached, the cache.
     */
    synchronized void complete(ConstantTensor<B> made, boolean isCached) {
        made.share(1 + waiters, isCached);
        notifyAll(); // they run after this method; a call after the writes might fail
        tensor = made;
        builder = null;
    }

    /**
     * Ends the slot without a tensor. If {@code cause} is null, a waiting thread computes it
     * instead.
     */
    synchronized void fail(@Nullable Throwable cause) {
        notifyAll();
        failure = cause;
        builder = null;
    }
}
