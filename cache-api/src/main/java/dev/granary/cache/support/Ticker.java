package dev.granary.cache.support;

import java.time.Duration;

/** The monotonic clock, and waiting on it; tests pass one that they turn by hand. */
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

    /** Nanoseconds from an arbitrary moment on. */
    long nanos();

    /** Waits that long. */
    void pause(Duration duration) throws InterruptedException;

    /** Waits that long, or until the thread is interrupted, which it stays. */
    default void pauseCalmly(Duration duration) {
        try {
            pause(duration);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
