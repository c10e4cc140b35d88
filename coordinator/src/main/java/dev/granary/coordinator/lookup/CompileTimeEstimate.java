package dev.granary.coordinator.lookup;

/** What compiling costs: a moving average that tells what to expect, and all that was paid. Thread-safe. */
public final class CompileTimeEstimate {
    /** Each new time moves the average by this part of the difference. */
    private static final int INERTIA = 8;

    private long expected; // guarded by this; 0 while nothing is known
    private long paid; // guarded by this

    /** A kernel was compiled here, in so many nanoseconds. */
    synchronized void paid(long nanos) {
        paid += nanos;
        seen(nanos);
    }

    /** A stored entry tells that it was compiled somewhere in so many nanoseconds. */
    synchronized void seen(long nanos) {
        if (nanos > 0) {
            expected = expected == 0 ? nanos : expected + (nanos - expected) / INERTIA;
        }
    }

    /** What the next kernel is expected to cost, in nanoseconds; 0 where nothing is known. */
    synchronized long expected() {
        return expected;
    }

    /** The sum of what was compiled here, in nanoseconds. */
    synchronized long paid() {
        return paid;
    }
}
