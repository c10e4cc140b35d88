package dev.granary.local.store;

/**
 * Tells a holder of the commit lock that stands still from holders that take turns: each begins a change, so their count moves. For one thread.
 */
final class LockHolderWatch {
    private final long longestNanos;
    private long changes;
    private long since;
    private long looked;

    /**
     * Watches from now on.
     *
     * @param changes how many changes had begun
     * @param nowNanos the time
     * @param longestNanos for how long a holder may stand still
     */
    LockHolderWatch(long changes, long nowNanos, long longestNanos) {
        this.longestNanos = longestNanos;
        this.changes = changes;
        this.since = nowNanos;
        this.looked = nowNanos;
    }

    /** So many changes had begun at that time. */
    void look(long nowChanges, long nowNanos) {
        if (nowChanges != changes) {
            changes = nowChanges;
            since = nowNanos;
        }
        looked = nowNanos;
    }

    /** For how long no change has begun, as of the last look. */
    long stillNanos() {
        return looked - since;
    }

    /**
     * True where a holder has stood still for as long as it may; half of that is enough where {@code wait} is over, since a part of the wait may
     * have passed before this watched.
     */
    boolean hasStood(BoundedWait wait) {
        return stillNanos() >= (wait.isOver() ? longestNanos / 2 : longestNanos);
    }
}
