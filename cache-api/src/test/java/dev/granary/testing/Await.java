package dev.granary.testing;

import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for another thread to come to a point, without a limit of its own: the test has one. */
public final class Await {
    private Await() {}

    public static void holds(BooleanSupplier condition) {
        while (!condition.getAsBoolean()) {
            if (Thread.currentThread().isInterrupted()) {
                throw new IllegalStateException("Interrupted: the test ran out of time");
            }
            LockSupport.parkNanos(100_000);
        }
    }
}
