package dev.granary.coordinator.layer;

import java.time.Duration;

/**
 * Time budget of lookups in one layer: waiting is charged, the compile time of used entries is
 * credited. Thread-safe.
 *
 * <p>The budget is the initial amount, or 1/{@value #SHARE} of the time spent compiling, whichever
 * is more. If it is used up, the layer is slower than compiling, or has nothing. Lookups skip it
 * then. One probe at a time runs in the background, to see whether that has changed. So a bucket
 * that is slower than compiling, or does not answer, costs a run at most the budget and one compile
 * time.
 *
 * <p>The speed of the bucket is not estimated. The budget bounds the loss for any latency, and a
 * distant bucket is used as long as its hits pay for its misses.
 */
public final class LookupTimeBudget {
    /** The divisor of the compile time: 1/25 of it, 4 %, may be spent without a hit. */
    static final int SHARE = 25;

    private final CompileTimeEstimate compileTimes;
    private final long initialNanos;
    private long charged; // guarded by this
    private boolean isProbing; // guarded by this

    /**
     * Creates a budget from which nothing was charged.
     *
     * @param initial the budget before anything was compiled, which includes the time to connect
     */
    public LookupTimeBudget(CompileTimeEstimate compileTimes, Duration initial) {
        this.compileTimes = compileTimes;
        this.initialNanos = initial.toNanos();
    }

    /** Decision of the budget for one lookup. */
    sealed interface Decision {
        /** Look up in the layer, and wait at most {@code limitNanos} nanoseconds. */
        record Load(long limitNanos) implements Decision {}

        /**
         * Skip the layer, but probe it in the background and call
         * {@link LookupTimeBudget#probeEnded}.
         */
        record Probe() implements Decision {}

        /** Skip the layer. */
        record Skip() implements Decision {}
    }

    /** Decides about one lookup. Only one probe is decided on until {@link #probeEnded}. */
    synchronized Decision decide() {
        long left = allowance() - charged;
        if (left > 0) {
            return new Decision.Load(
                    Math.max(Math.min(left, initialNanos), compileTimes.expected()));
        }
        if (isProbing) {
            return new Decision.Skip();
        }
        isProbing = true;
        return new Decision.Probe();
    }

    /** Charges the time of a lookup, whatever its result. */
    public synchronized void charge(long nanos) {
        charged += nanos;
    }

    /** Credits the compile time of an entry that was used. */
    synchronized void credit(long nanos) {
        charged = Math.max(0, charged - nanos);
    }

    /**
     * Ends a probe and credits the time that a hit would have saved. The credit is at least half of
     * the overdraft: many threads that wait at once are charged more than single probes could ever
     * credit.
     *
     * @param savedNanos the time in nanoseconds; 0 or less if the probe saved none
     */
    synchronized void probeEnded(long savedNanos) {
        isProbing = false;
        if (savedNanos > 0) {
            credit(Math.max(savedNanos, (charged - allowance()) / 2));
        }
    }

    private long allowance() {
        return Math.max(initialNanos, compileTimes.total() / SHARE);
    }
}
