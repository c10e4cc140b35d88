package dev.granary.coordinator.claim;

/**
 * Wait budget: unsuccessful waits consume it, a success resets it, and it refills at 1 % of the
 * elapsed time. So a machine on which waiting does not help loses the budget once, not at every
 * lookup. Thread-safe.
 */
final class WaitBudget {
    /** The divisor of the elapsed time that is refilled: 1/100. */
    private static final int REFILL_DIVISOR = 100;

    private final long limit;
    private long spent; // guarded by this
    private long lastNanos; // guarded by this

    /**
     * Creates a full budget.
     *
     * @param limit the budget in nanoseconds
     * @param nanos the current time of the monotonic clock
     */
    WaitBudget(long limit, long nanos) {
        this.limit = limit;
        this.lastNanos = nanos;
    }

    /** Returns the remaining budget at {@code nanos}, in nanoseconds. */
    synchronized long remaining(long nanos) {
        long passed = nanos - lastNanos;
        if (passed > 0) { // times of different threads may be slightly out of order
            spent = Math.max(0, spent - passed / REFILL_DIVISOR);
            lastNanos = nanos;
        }
        return limit - spent;
    }

    /** Charges an unsuccessful wait of {@code waited} nanoseconds that ended at {@code nanos}. */
    synchronized void charge(long waited, long nanos) {
        spent = Math.min(limit, limit - remaining(nanos) + waited);
    }

    /** Restores the full budget after a successful wait. */
    synchronized void reset() {
        spent = 0;
    }
}
