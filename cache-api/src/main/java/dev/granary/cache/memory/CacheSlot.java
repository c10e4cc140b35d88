package dev.granary.cache.memory;

/** The place of one kept value: what a look-up reads, in 32 bytes, and no more. When it was used is noted elsewhere, by its number. */
final class CacheSlot<K, V> {
    final K key;
    final int hash;
    final V value;
    int index; // where uses are noted; a thread that races with a change notes one use wrongly

    CacheSlot(K key, int hash, V value, int index) {
        this.key = key;
        this.hash = hash;
        this.value = value;
        this.index = index;
    }
}
