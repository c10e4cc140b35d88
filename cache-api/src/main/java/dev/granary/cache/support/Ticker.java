package dev.granary.cache.support;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A monotonic clock with a way to wait. Tests use one that they advance by hand. */
public interface Ticker {
    /** The system's clock. */
    Ticker SYSTEM = new Ticker() {
        @Override
        public long nanos() {
            return System.nanoTime();
        }

        @Override
        public void pause(Duration duration) throws InterruptedException {
            Thread.sleep(duration);
        }
    };

    /** Returns the time in nanoseconds since an arbitrary moment. */
    long nanos();

    /** Waits for {@code duration}. */
    void pause(Duration duration) throws InterruptedException;

    /** Runs {@code event} after {@code delay}, on another thread. */
    default void after(Duration delay, Runnable event) {
        CompletableFuture.delayedExecutor(delay.toNanos(), TimeUnit.NANOSECONDS).execute(event);
    }

    /**
     * Waits for {@code duration} or until the thread is interrupted, and then keeps its interrupt
     * status.
     */
    default void pauseQuietly(Duration duration) {
        try {
            pause(duration);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
