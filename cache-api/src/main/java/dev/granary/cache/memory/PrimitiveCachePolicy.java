package dev.granary.cache.memory;

/** Which values leave a full {@link PrimitiveCache}. */
public enum PrimitiveCachePolicy {
    /** The least recently used, as the seeds ask; the default. Which one that is follows from the calls alone. */
    LRU,

    /**
     * Those that are used seldom, by Caffeine's W-TinyLFU: fewer misses where some keys are used far more often than others. Which one
     * leaves is up to Caffeine; a new value may be the one.
     */
    W_TINY_LFU
}
