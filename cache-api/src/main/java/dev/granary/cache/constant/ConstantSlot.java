package dev.granary.cache.constant;

import dev.granary.cache.build.PendingBuild;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The place of one key: promised by one thread, then a tensor, a failure, or given up, for ever. The fields without a comment are guarded by
 * the lock of the cache.
 */
final class ConstantSlot<B extends AutoCloseable> implements PendingBuild {
    private final ConstantKey<B> key;
    private final long bytes;
    private final long startNanos;
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile @Nullable Thread maker = Thread.currentThread(); // only while it makes: a cached tensor must not keep its thread alive
    private volatile @Nullable RefCountedTensor<B> tensor;
    private @Nullable Throwable failure; // guarded by this
    private boolean isEnded; // guarded by this
    private int waiters; // guarded by this
    private boolean isReserved;
    private long costNanos;
    private volatile long stamp = -1; // volatile, since hits take no lock

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

    /** The tensor; null until it is there, and for ever where it could not be made. */
    @Nullable RefCountedTensor<B> tensor() {
        return tensor;
    }

    @Override
    public @Nullable Thread builder() {
        return maker;
    }

    boolean isMadeByCaller() {
        return maker == Thread.currentThread();
    }

    /** How many threads wait, while it is promised. */
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

    /** How long making took; 0 until it is made. */
    long costNanos() {
        return costNanos;
    }

    /** The time of making up to {@code nowNanos} is what the tensor costs. */
    void measure(long nowNanos) {
        costNanos = Math.max(0, nowNanos - startNanos);
    }

    /** When it was used last, by the clock of the cache. */
    long stamp() {
        return stamp;
    }

    void setStamp(long now) {
        stamp = now;
    }

    /** What a wait came to. */
    sealed interface Waited<B extends AutoCloseable> {
        /** The tensor is there, and this is the waiter's hold on it. */
        record Made<B extends AutoCloseable>(ConstantHold<B> constant) implements Waited<B> {}

        /** The maker failed. */
        record Failed<B extends AutoCloseable>(Throwable cause) implements Waited<B> {}

        /** The promise was given up, or was settled before the wait began: look again. */
        record Over<B extends AutoCloseable>() implements Waited<B> {}

        /** The limit has passed, or this thread is interrupted: its interrupt status is kept. */
        record Enough<B extends AutoCloseable>() implements Waited<B> {}
    }

    /** Waits for another thread's tensor. Who began to wait before it was made has a hold on it, whether the cache keeps it or not. */
    Waited<B> await(Duration limit) {
        synchronized (this) {
            if (isEnded) {
                return new Waited.Over<>();
            }
            waiters++;
        }
        try {
            boolean inTime = ended.await(limit.toNanos(), TimeUnit.NANOSECONDS); // what came of it is asked below, in time or not
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        synchronized (this) {
            if (!isEnded) {
                waiters--;
                return new Waited.Enough<>();
            }
            RefCountedTensor<B> made = tensor;
            Throwable cause = failure;
            return made != null ? madeBy(made) : cause != null ? new Waited.Failed<>(cause) : new Waited.Over<>();
        }
    }

    private static <B extends AutoCloseable> Waited<B> madeBy(RefCountedTensor<B> made) {
        try {
            return new Waited.Made<>(made.handOver());
        } catch (Throwable e) { // no memory: the hold that was counted for this waiter is nobody's
            made.release();
            throw e;
        }
    }

    /** The tensor is made; it is shared by the maker, by those who wait and, if it is cached, by the cache. */
    synchronized void complete(RefCountedTensor<B> made, boolean isCached) {
        made.share(1 + waiters, isCached);
        tensor = made;
        end();
    }

    /** The tensor will not be made; without a {@code cause} whoever waits makes it instead. */
    synchronized void fail(@Nullable Throwable cause) {
        failure = cause;
        end();
    }

    private void end() {
        isEnded = true;
        maker = null;
        ended.countDown();
    }
}
