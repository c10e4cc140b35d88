package dev.granary.local.store;

/**
 * Remaining wait time of one operation, shared by all its waits for others; time spent computing or
 * writing is not deducted. For one thread.
 */
public final class RemainingTime {
    private long left;

    /** Begins with {@code nanos} nanoseconds. */
    public RemainingTime(long nanos) {
        this.left = Math.max(0, nanos);
    }

    /** Returns the remaining nanoseconds; 0 allows attempts, but no waits. */
    public long nanos() {
        return left;
    }

    /** Deducts {@code nanos} nanoseconds. */
    public void deduct(long nanos) {
        left = Math.max(0, left - Math.max(0, nanos));
    }
}
