package dev.granary.cache;

/** Order in which entries are evicted. */
public enum EvictionPolicy {
    /** Least recently used first, with a resolution of 10 minutes. */
    LRU,
    /** First stored, first evicted; uses have no effect. */
    FIFO
}
