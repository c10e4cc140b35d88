package dev.granary.testing;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * A wait for a condition that another thread establishes. It has no timeout of its own; the test
 * has one.
 */
public final class Await {
    private static final long MIN_PAUSE_NANOS = 100_000;
    private static final long MAX_PAUSE_NANOS = 5_000_000;

    private Await() {}

    /** A condition. */
    @FunctionalInterface
    public interface Condition<X extends Exception> {
        /** Returns whether it holds now. */
        boolean holds() throws X;
    }

    /**
     * Waits until {@code condition} holds.
     *
     * @throws IllegalStateException if the thread is interrupted
     */
    public static <X extends Exception> void holds(Condition<X> condition) throws X {
        long pause = MIN_PAUSE_NANOS;
        while (!condition.holds()) {
            if (Thread.currentThread().isInterrupted()) {
                throw new IllegalStateException("Interrupted: the test ran out of time");
            }
            LockSupport.parkNanos(pause);
            pause = Math.min(2 * pause, MAX_PAUSE_NANOS); // others use the processor meanwhile
        }
    }

    /** Collects garbage until {@code condition} holds, such as that a reference is cleared. */
    public static <X extends Exception> void collected(Condition<X> condition) throws X {
        holds(() -> {
            System.gc();
            return condition.holds();
        });
    }

    /** Waits until {@code latch} is released. */
    public static void released(CountDownLatch latch) {
        holds(() -> latch.getCount() == 0);
    }
}
