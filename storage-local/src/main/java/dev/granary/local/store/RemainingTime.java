package dev.granary.local.store;

/**
 * How long one operation may still wait for others, all its waits together; what it computes or writes itself does not count. For one thread.
 */
public final class RemainingTime {
    private long left;

    /** May wait for so many nanoseconds. */
    public RemainingTime(long nanos) {
        this.left = Math.max(0, nanos);
    }

    /** How many nanoseconds of waiting are left; 0 allows attempts, and no waits. */
    public long left() {
        return left;
    }

    /** So many nanoseconds were waited. */
    public void spend(long nanos) {
        left = Math.max(0, left - Math.max(0, nanos));
    }
}
