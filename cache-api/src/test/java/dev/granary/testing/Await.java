package dev.granary.testing;

import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * A wait for a condition that another thread establishes. It has no timeout of its own; the test
 * has one.
 */
public final class Await {
    private Await() {}

    /**
     * Waits until {@code condition} holds.
     *
     * @throws IllegalStateException if the thread is interrupted
     */
    public static void holds(BooleanSupplier condition) {
        while (!condition.getAsBoolean()) {
            if (Thread.currentThread().isInterrupted()) {
                throw new IllegalStateException("Interrupted: the test ran out of time");
            }
            LockSupport.parkNanos(100_000);
        }
    }
}
