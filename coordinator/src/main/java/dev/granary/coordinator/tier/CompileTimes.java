package dev.granary.coordinator.tier;

import dev.granary.cache.Entry;

import java.util.concurrent.TimeUnit;

/** Estimate of compile times: a moving average, and the total of this process. Thread-safe. */
public final class CompileTimes {
    /**
     * The longest compile time that is believed: 10 min. Nothing protects the statement of a stored
     * entry's writer, and a lookup may wait for one expected compile time.
     */
    static final long MAX_NANOS = TimeUnit.MINUTES.toNanos(10);

    /** The divisor of the moving average: each new time moves it by 1/8 of the difference. */
    private static final int SMOOTHING = 8;

    private long expected; // guarded by this; 0 if unknown
    private long total; // guarded by this

    /** Records a compile of this process, in nanoseconds. */
    public synchronized void compiled(long nanos) {
        total += nanos;
        observe(nanos);
    }

    /** Returns the compile time of a stored entry in nanoseconds, as far as it is plausible. */
    public static long stated(Entry entry) {
        return Math.min(entry.compileTime().toNanos(), MAX_NANOS);
    }

    public void observe(Entry entry) {
        observe(stated(entry));
    }

    synchronized void observe(long nanos) {
        if (nanos > 0) {
            long capped = Math.min(nanos, MAX_NANOS);
            expected = expected == 0 ? capped : expected + (capped - expected) / SMOOTHING;
        }
    }

    /** Returns the expected compile time of the next kernel in nanoseconds; 0 if unknown. */
    public synchronized long expected() {
        return expected;
    }

    /** Returns the total compile time of this process in nanoseconds. */
    synchronized long total() {
        return total;
    }
}
