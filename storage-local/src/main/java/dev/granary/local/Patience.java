package dev.granary.local;

/**
 * How long one operation may still wait for others, all its waits together; what it computes or writes itself does not count. For one thread.
 */
final class Patience {
    private long left;

    /** May wait for so many nanoseconds. */
    Patience(long nanos) {
        this.left = Math.max(0, nanos);
    }

    /** How many nanoseconds of waiting are left; 0 allows attempts, and no waits. */
    long left() {
        return left;
    }

    /** So many nanoseconds were waited. */
    void spend(long nanos) {
        left = Math.max(0, left - Math.max(0, nanos));
    }
}
