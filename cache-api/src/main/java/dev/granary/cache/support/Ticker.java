package dev.granary.cache.support;

import java.time.Duration;

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
