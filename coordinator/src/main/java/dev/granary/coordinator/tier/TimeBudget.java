package dev.granary.coordinator.tier;

import java.time.Duration;
import java.util.OptionalLong;

/**
 * Budget of the time that lookups wait for others: for one layer, or for other processes of the
 * machine. Waits are charged, and compile times that they saved are credited. Thread-safe.
 *
 * <p>The budget is the initial amount, or 1/{@value #SHARE} of the time spent compiling, whichever
 * is more. If it is used up, waiting is slower than compiling. Lookups skip the layer then. One
 * probe at a time runs in the background, to see whether that has changed. So a slow or silent
 * layer delays a run by at most the budget plus one compile time.
 *
 * <p>The speed of a layer is not estimated. The budget bounds the loss for any latency, and a
 * distant bucket is used as long as its hits pay for its misses.
 */
public final class TimeBudget {
    /** The divisor of the compile time: 1/25 of it, 4 %, may be spent without a hit. */
    static final int SHARE = 25;

    private final CompileTimes compileTimes;
    private final long initialNanos;
    private long charged; // guarded by this
    private boolean isProbing; // guarded by this

    /**
     * Creates a budget from which nothing was charged.
     *
     * @param initial the budget before anything was compiled, which includes the time to connect
     */
    public TimeBudget(CompileTimes compileTimes, Duration initial) {
        this.compileTimes = compileTimes;
        this.initialNanos = initial.toNanos();
    }

    /**
     * Returns the limit of one wait in nanoseconds: what is left, at most the initial amount; 0 if
     * the budget is used up.
     */
    public synchronized long left() {
        return allowance() > charged
                ? Math.min(allowance() - charged, Math.max(initialNanos, 1))
                : 0;
    }

    /**
     * Returns the limit of one load in nanoseconds: that of a wait, or one expected compile if that
     * is more; empty if the budget is used up.
     */
    OptionalLong limit() {
        long left = left();
        return left > 0
                ? OptionalLong.of(Math.max(left, compileTimes.expected()))
                : OptionalLong.empty();
    }

    /** Charges the time of a wait in nanoseconds, whatever its result. */
    public synchronized void charge(long nanos) {
        charged += nanos;
    }

    /** Credits the time that a wait saved, in nanoseconds. */
    synchronized void credit(long nanos) {
        charged = Math.max(0, charged - nanos);
    }

    public synchronized void clear() {
        charged = 0;
    }

    /** Begins a probe; false if one is under way. */
    synchronized boolean beginProbe() {
        boolean isFirst = !isProbing;
        isProbing = true;
        return isFirst;
    }

    /**
     * Ends a probe and credits the time that a hit would have saved. The credit is at least half of
     * the overdraft: many threads that wait at once are charged more than single probes could ever
     * credit.
     *
     * @param savedNanos the time in nanoseconds; 0 or less if the probe saved none
     */
    synchronized void endProbe(long savedNanos) {
        isProbing = false;
        if (savedNanos > 0) {
            credit(Math.max(savedNanos, (charged - allowance()) / 2));
        }
    }

    private long allowance() {
        return Math.max(initialNanos, compileTimes.total() / SHARE);
    }
}
