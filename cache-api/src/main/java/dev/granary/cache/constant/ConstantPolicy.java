package dev.granary.cache.constant;

/**
 * The treatment of a new tensor when the budget is exhausted. A tensor larger than the whole budget
 * is never cached under any policy.
 */
public enum ConstantPolicy {
    /** Cached tensors stay; the new one is computed but not cached. */
    NO_EVICT,
    /**
     * Tensors with the least compute time per byte are evicted first, if their total compute time
     * is less than that of the new one. Otherwise the new one is not cached.
     */
    COST,
    /** The least recently used tensors are evicted. */
    LRU
}
