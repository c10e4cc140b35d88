package dev.granary.coordinator.lookup;

import java.time.Duration;

/**
 * How long a look-up may wait for one layer, if at all: an account of what asking has cost in vain. Thread-safe.
 *
 * <p>The time of every question is put to the account, and the compile time of every entry that was used is taken off it. In all, asking may
 * cost the credit, or one {@link #SHARE}th of the time spent compiling, whichever is more. Where that is used up, the layer is slower
 * than compiling, or has nothing: it is not asked then, except behind the caller's back, one question at a time, to see whether that has changed.
 * So a bucket that is slower than compiling, or dark, costs a run at most the credit or 4 %, and one compile time.
 *
 * <p>Nothing is estimated of the bucket itself: an account bounds the loss whatever the times are like, and a bucket that is well but far away
 * is asked as long as its hits pay for its misses.
 */
public final class LookupTimeBudget {
    /** Of the time spent compiling, one part in so many may be spent in vain. */
    static final int SHARE = 25;

    private final CompileTimeEstimate cost;
    private final long creditNanos;
    private long vain; // guarded by this
    private boolean isProbing; // guarded by this

    /**
     * Nothing was asked yet.
     *
     * @param credit what asking may cost before anything was compiled: connecting, too, takes its time
     */
    public LookupTimeBudget(CompileTimeEstimate cost, Duration credit) {
        this.cost = cost;
        this.creditNanos = credit.toNanos();
    }

    /** What a look-up is to do. */
    sealed interface Verdict {
        /** Ask, and wait at most so many nanoseconds. */
        record Ask(long limitNanos) implements Verdict {}

        /** Do without, but ask behind the caller's back and tell {@link LookupTimeBudget#probed}. */
        record Probe() implements Verdict {}

        /** Do without. */
        record Skip() implements Verdict {}
    }

    synchronized Verdict verdict() {
        long left = allowance() - vain;
        if (left > 0) {
            return new Verdict.Ask(Math.max(Math.min(left, creditNanos), cost.expected()));
        }
        if (isProbing) {
            return new Verdict.Skip();
        }
        isProbing = true;
        return new Verdict.Probe();
    }

    /** A caller has waited so long, whatever came of it. */
    public synchronized void spent(long nanos) {
        vain += nanos;
    }

    /** An entry was used that had cost so much to compile. */
    synchronized void saved(long nanos) {
        vain = Math.max(0, vain - nanos);
    }

    /**
     * A probe has ended; it would have saved so much, 0 where nothing. Besides that it takes off half of what is over the limit: many threads
     * that wait at once put more to the account than single probes could ever take off.
     */
    synchronized void probed(long gained) {
        isProbing = false;
        if (gained > 0) {
            saved(Math.max(gained, (vain - allowance()) / 2));
        }
    }

    private long allowance() {
        return Math.max(creditNanos, cost.paid() / SHARE);
    }
}
