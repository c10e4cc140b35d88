package dev.granary.local.config;

/** Which entries leave first when the directory is full. */
public enum EvictionPolicy {
    /** The least recently used. */
    LRU,
    /** The first stored, whether used since or not. */
    FIFO
}
