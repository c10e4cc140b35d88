package dev.granary.coordinator.layer;

/** Estimate of compile times: a moving average, and the total of this process. Thread-safe. */
public final class CompileTimeEstimate {
    /** The divisor of the moving average: each new time moves it by 1/8 of the difference. */
    private static final int SMOOTHING = 8;

    private long expected; // guarded by this; 0 if unknown
    private long total; // guarded by this

    /** Records a compile of this process, in nanoseconds. */
    public synchronized void compiled(long nanos) {
        total += nanos;
        observe(nanos);
    }

    /** Records the compile time of a stored entry, in nanoseconds. */
    public synchronized void observe(long nanos) {
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
