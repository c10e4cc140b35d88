package dev.granary.cache.memory;

/** The eviction policy of a {@link PrimitiveCache}. */
public enum PrimitiveCachePolicy {
    /** Evicts the least recently used value; the default. The choice depends only on the calls. */
    LRU,

    /**
     * Evicts rarely used values by Caffeine's W-TinyLFU: fewer misses if some keys are used far
     * more often than others. The choice is Caffeine's and may fall on a new value.
     */
    W_TINY_LFU
}
