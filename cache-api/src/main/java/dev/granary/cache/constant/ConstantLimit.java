package dev.granary.cache.constant;

/**
 * The memory budget of one device, and the policy when it is exhausted.
 *
 * @param megabytes the budget in units of 1,048,576 bytes; 0 caches nothing, {@link #UNLIMITED}
 *     everything
 * @param policy the treatment of a new tensor when the budget is exhausted
 */
public record ConstantLimit(long megabytes, ConstantPolicy policy) {
    /** A budget that is never exhausted. */
    public static final long UNLIMITED = Long.MAX_VALUE;

    /** The default limit: unlimited, with {@link ConstantPolicy#NO_EVICT}. */
    public static final ConstantLimit DEFAULT =
            new ConstantLimit(UNLIMITED, ConstantPolicy.NO_EVICT);

    private static final int MEGABYTE_BITS = 20;

    /**
     * Checks the budget.
     *
     * @throws IllegalArgumentException if it is negative
     */
    public ConstantLimit {
        if (megabytes < 0) {
            throw new IllegalArgumentException(
                    "The capacity of the constant tensor cache must be 0 MB or more, not "
                            + megabytes);
        }
    }

    /** Returns the budget in bytes, at most {@code Long.MAX_VALUE}. */
    public long bytes() {
        return megabytes > Long.MAX_VALUE >> MEGABYTE_BITS
                ? Long.MAX_VALUE
                : megabytes << MEGABYTE_BITS;
    }
}
