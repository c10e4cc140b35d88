package dev.granary.local.store;

/**
 * Detector of a stalled holder of the commit lock. Each holder begins a change, so the count of
 * changes grows as long as holders alternate. For one thread.
 */
final class LockHolderWatch {
    private final long limitNanos;
    private long changes;
    private long since;
    private long observedAt;

    /**
     * Begins to watch.
     *
     * @param changes number of changes begun so far
     * @param nowNanos the current time in nanoseconds
     * @param limitNanos time in nanoseconds after which a holder without progress counts as stalled
     */
    LockHolderWatch(long changes, long nowNanos, long limitNanos) {
        this.limitNanos = limitNanos;
        this.changes = changes;
        this.since = nowNanos;
        this.observedAt = nowNanos;
    }

    /** Records the number of changes begun until a time. */
    void observe(long nowChanges, long nowNanos) {
        if (nowChanges != changes) {
            changes = nowChanges;
            since = nowNanos;
        }
        observedAt = nowNanos;
    }

    /** Returns the nanoseconds without a new change, as of the last observation. */
    long stallNanos() {
        return observedAt - since;
    }

    /**
     * Returns whether the holder is stalled. If {@code wait} is over, half of the limit suffices,
     * since a part of the wait may have passed before this watch began.
     */
    boolean isStalled(BoundedWait wait) {
        return stallNanos() >= (wait.isOver() ? limitNanos / 2 : limitNanos);
    }
}
