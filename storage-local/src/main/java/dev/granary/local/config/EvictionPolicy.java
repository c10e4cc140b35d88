package dev.granary.local.config;

/** Order in which entries are evicted. */
public enum EvictionPolicy {
    /** Least recently used first. */
    LRU,
    /** First stored, first evicted; uses have no effect. */
    FIFO
}
