package dev.granary.cache.memory;

import org.jspecify.annotations.Nullable;

/** Where finished values are kept: bounded, and in charge of who leaves. Thread-safe. */
interface ValueStore<K, V> {
    /** The value of {@code key} if it is kept; a use, and counted as a hit. */
    @Nullable V find(K key);

    /** The value of {@code key} if it is kept; no use. */
    @Nullable V peek(K key);

    /** Keeps the value of a key that is not kept, and lets others leave for it; nothing where the capacity is 0. */
    void keep(K key, V value);

    /** How many values are kept, never more than {@link #capacity()}. */
    int size();

    int capacity();

    /** Takes effect before it returns. */
    void setCapacity(int capacity);

    /** How often {@link #find} found something. */
    long hits();
}
