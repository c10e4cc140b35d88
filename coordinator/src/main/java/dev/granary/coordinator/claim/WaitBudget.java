package dev.granary.coordinator.claim;

/**
 * How long this process still waits for others: what it waited in vain is taken from it, and comes back with success, or slowly with time. So
 * a machine on which waiting does not help loses this much once, and not at every look-up. Thread-safe.
 */
final class WaitBudget {
    /** Of the time that passes, this part is forgiven. */
    private static final int FORGIVENESS = 100;

    private final long limit;
    private long spent; // guarded by this
    private long lastNanos; // guarded by this

    /** Patience for {@code limit} nanoseconds, from that moment of the monotonic clock on. */
    WaitBudget(long limit, long nanos) {
        this.limit = limit;
        this.lastNanos = nanos;
    }

    /** What is left at that moment, in nanoseconds. */
    synchronized long left(long nanos) {
        long passed = nanos - lastNanos;
        if (passed > 0) { // threads come a little out of order
            spent = Math.max(0, spent - passed / FORGIVENESS);
            lastNanos = nanos;
        }
        return limit - spent;
    }

    /** So many nanoseconds were waited in vain, up to that moment. */
    synchronized void inVain(long waited, long nanos) {
        spent = Math.min(limit, limit - left(nanos) + waited);
    }

    /** A wait has brought what it was for. */
    synchronized void rewarded() {
        spent = 0;
    }
}
