package dev.granary.cache.constant;

import dev.granary.cache.build.PendingBuild;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * The state of one key: promised by one thread, and at the end completed with a tensor, failed or
 * abandoned. Mutable fields without a comment are guarded by the lock of the cache.
 */
final class ConstantSlot<B extends AutoCloseable> implements PendingBuild {
    private final ConstantKey<B> key;
    private final long bytes;
    private final long startNanos;
    private final CountDownLatch ended = new CountDownLatch(1);
    // Null after the end, so that a cached tensor does not retain its thread.
    private volatile @Nullable Thread builder = Thread.currentThread();
    private volatile @Nullable RefCountedTensor<B> tensor;
    private @Nullable Throwable failure; // guarded by this
    private boolean isEnded; // guarded by this
    private int waiters; // guarded by this
    private boolean isReserved;
    private long costNanos;
    private volatile long lastUse = -1; // volatile, since hits take no lock

    ConstantSlot(ConstantKey<B> key, long bytes, long startNanos) {
        this.key = key;
        this.bytes = bytes;
        this.startNanos = startNanos;
    }

    ConstantKey<B> key() {
        return key;
    }

    long bytes() {
        return bytes;
    }

    /** Returns the tensor, or null until it is completed, and also after a failure. */
    @Nullable
    RefCountedTensor<B> tensor() {
        return tensor;
    }

    @Override
    public @Nullable Thread builder() {
        return builder;
    }

    boolean isBuiltByCaller() {
        return builder == Thread.currentThread();
    }

    /** Returns the number of waiting threads while the slot is promised. */
    synchronized int waiting() {
        return isEnded ? 0 : waiters;
    }

    synchronized boolean isEnded() {
        return isEnded;
    }

    boolean isReserved() {
        return isReserved;
    }

    void setReserved(boolean reserved) {
        isReserved = reserved;
    }

    /** Returns the compute time in nanoseconds; 0 until the tensor is completed. */
    long costNanos() {
        return costNanos;
    }

    /** Sets the cost to the time from the start until {@code nowNanos}. */
    void setCost(long nowNanos) {
        costNanos = Math.max(0, nowNanos - startNanos);
    }

    /** Returns the time of the last use, by the logical clock of the cache. */
    long lastUse() {
        return lastUse;
    }

    void setLastUse(long now) {
        lastUse = now;
    }

    /** The outcome of a wait. */
    sealed interface WaitResult<B extends AutoCloseable> {
        /** The tensor was completed, with the waiter's hold on it. */
        record Completed<B extends AutoCloseable>(ConstantHold<B> constant)
                implements WaitResult<B> {}

        /** The builder failed. */
        record Failed<B extends AutoCloseable>(Throwable cause) implements WaitResult<B> {}

        /**
         * The promise was abandoned, or ended before the wait began; the lookup must be repeated.
         */
        record Retry<B extends AutoCloseable>() implements WaitResult<B> {}

        /**
         * The timeout has elapsed, or this thread was interrupted and keeps its interrupt status.
         */
        record TimedOut<B extends AutoCloseable>() implements WaitResult<B> {}
    }

    /**
     * Waits for another thread's tensor. A thread whose wait began before the completion gets a
     * hold, even if the tensor is not cached.
     */
    WaitResult<B> await(Duration timeout) {
        synchronized (this) {
            if (isEnded) {
                return new WaitResult.Retry<>();
            }
            waiters++;
        }
        try {
            // the result is unused: the slot may end between the timeout and the check below
            boolean _ = ended.await(timeout.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        synchronized (this) {
            if (!isEnded) {
                waiters--;
                return new WaitResult.TimedOut<>();
            }
            RefCountedTensor<B> completed = tensor;
            Throwable cause = failure;
            return completed != null
                    ? completedBy(completed)
                    : cause != null ? new WaitResult.Failed<>(cause) : new WaitResult.Retry<>();
        }
    }

    private static <B extends AutoCloseable> WaitResult<B> completedBy(RefCountedTensor<B> made) {
        try {
            return new WaitResult.Completed<>(made.countedHold());
        } catch (Throwable e) { // no memory: release the hold that was counted for this waiter
            made.release();
            throw e;
        }
    }

    /**
     * Completes the slot. The tensor is shared by its builder, the waiting threads and, if it is
     * cached, the cache.
     */
    synchronized void complete(RefCountedTensor<B> made, boolean isCached) {
        made.share(1 + waiters, isCached);
        tensor = made;
        end();
    }

    /**
     * Ends the slot without a tensor. If {@code cause} is null, a waiting thread computes it
     * instead.
     */
    synchronized void fail(@Nullable Throwable cause) {
        failure = cause;
        end();
    }

    private void end() {
        isEnded = true;
        builder = null;
        ended.countDown();
    }
}
