package dev.granary.cache.memory;

/**
 * A cached value with its key: everything that a lookup reads, in 32 bytes. The time of its last
 * use is recorded elsewhere, by its number.
 */
final class CacheSlot<K, V> {
    final K key;
    final int hash;
    final V value;
    int index; // the number for recording uses; a race with a change may misattribute one use

    CacheSlot(K key, int hash, V value, int index) {
        this.key = key;
        this.hash = hash;
        this.value = value;
        this.index = index;
    }
}
