package dev.granary.cache.memory;

import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for another thread to come to a point, without a limit of its own: the test has one. */
final class Until {
    private Until() {}

    static void holds(BooleanSupplier condition) {
        while (!condition.getAsBoolean()) {
            if (Thread.currentThread().isInterrupted()) {
                throw new IllegalStateException("Interrupted: the test ran out of time");
            }
            LockSupport.parkNanos(100_000);
        }
    }
}
