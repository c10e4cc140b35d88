package dev.granary.coordinator.layer;

import dev.granary.cache.Entry;

import java.util.concurrent.TimeUnit;

/** Estimate of compile times: a moving average, and the total of this process. Thread-safe. */
public final class CompileTimeEstimate {
    /**
     * The longest compile time that a stored entry may state, since nothing protects that statement
     * of its writer: 10 min.
     */
    static final long MAX_STATED = TimeUnit.MINUTES.toNanos(10);

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
        return Math.min(entry.compileTime().toNanos(), MAX_STATED);
    }

    /** Records the compile time of a stored entry. */
    public void observe(Entry entry) {
        observe(stated(entry));
    }

    synchronized void observe(long nanos) {
        if (nanos > 0) {
            expected = expected == 0 ? nanos : expected + (nanos - expected) / SMOOTHING;
        }
    }

    /** Returns the expected compile time of the next kernel in nanoseconds; 0 if unknown. */
    synchronized long expected() {
        return expected;
    }

    /** Returns the total compile time of this process in nanoseconds. */
    synchronized long total() {
        return total;
    }
}
