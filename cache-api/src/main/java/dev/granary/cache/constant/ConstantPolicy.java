package dev.granary.cache.constant;

/** What becomes of a new tensor when the budget is used up. A tensor that is larger than the whole budget is never kept, whatever the policy. */
public enum ConstantPolicy {
    /** What is kept stays; the new one is computed and not kept. */
    NO_EVICT,
    /**
     * What was quick to make, by the time for each byte, leaves first; but only where all that would have to leave took less time together
     * than the new one did. Else the new one is not kept.
     */
    COST,
    /** The least recently used leave. Of the time before, under {@link #NO_EVICT}, only the making counts. */
    LRU
}
