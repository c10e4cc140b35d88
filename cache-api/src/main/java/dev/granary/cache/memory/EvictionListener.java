package dev.granary.cache.memory;

/**
 * Listener of the evictions of one tier. It is called by the thread that evicts, which other
 * callers of the tier may wait for, and must neither block nor throw.
 */
@FunctionalInterface
public interface EvictionListener {
    /** The listener that does nothing. */
    EvictionListener NONE = () -> (_, _) -> {};

    /** Called before entries are evicted; returns the receiver of the result. */
    Eviction begin();

    /** An eviction under way. */
    @FunctionalInterface
    interface Eviction {
        /**
         * Called when entries were evicted, also if an error ended the eviction early.
         *
         * @param entries the number of entries; 1 or more
         * @param bytes their length in the directory, in bytes; 0 for values in memory
         */
        void evicted(long entries, long bytes);
    }
}
