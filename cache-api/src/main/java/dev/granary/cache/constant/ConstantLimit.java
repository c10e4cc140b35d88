package dev.granary.cache.constant;

/**
 * The budget of one device, and what happens when it is used up.
 *
 * @param megabytes the budget in units of 1,048,576 bytes; 0: nothing is kept; {@link #UNLIMITED}: everything is
 * @param policy what becomes of a new tensor when the budget is used up
 */
public record ConstantLimit(long megabytes, ConstantPolicy policy) {
    /** A budget that is never used up. */
    public static final long UNLIMITED = Long.MAX_VALUE;

    /** The limit where nobody chose one: none, and {@link ConstantPolicy#NO_EVICT}. */
    public static final ConstantLimit DEFAULT = new ConstantLimit(UNLIMITED, ConstantPolicy.NO_EVICT);

    private static final int MEGABYTE_BITS = 20;

    /**
     * Checks the budget.
     *
     * @throws IllegalArgumentException if it is negative
     */
    public ConstantLimit {
        if (megabytes < 0) {
            throw new IllegalArgumentException("The capacity of the constant tensor cache must be 0 MB or more, not " + megabytes);
        }
    }

    /** The budget in bytes; what does not fit a long is as good as unlimited. */
    public long bytes() {
        return megabytes > Long.MAX_VALUE >> MEGABYTE_BITS ? Long.MAX_VALUE : megabytes << MEGABYTE_BITS;
    }
}
