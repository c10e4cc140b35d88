package dev.granary.cache.memory;

import org.jspecify.annotations.Nullable;

/** A bounded store of built values with an eviction policy. Thread-safe. */
interface ValueStore<K, V> {
    /**
     * Returns the value of {@code key}, or null if it is absent. A found value counts as used and
     * as a hit.
     */
    @Nullable
    V find(K key);

    /** Returns the value of {@code key}, or null if it is absent, without recording a use. */
    @Nullable
    V peek(K key);

    /**
     * Stores the value of an absent key and evicts others for it. Has no effect if the capacity is
     * 0.
     */
    void put(K key, V value);

    /** Returns the number of values, never more than {@link #capacity()}. */
    int size();

    int capacity();

    /** Changes the capacity; evictions complete before it returns. */
    void setCapacity(int capacity);

    /** Returns the number of calls of {@link #find} that found a value. */
    long hits();
}
