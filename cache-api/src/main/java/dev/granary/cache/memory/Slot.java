package dev.granary.cache.memory;

/** The place of one kept value. */
final class Slot<K, V> {
    final K key;
    final int hash;
    final V value;
    int index; // where threads note its uses; a thread that races with a change notes one use wrongly
    long stamp; // when it was kept, or last used by a thread without a stripe

    Slot(K key, int hash, V value, int index, long stamp) {
        this.key = key;
        this.hash = hash;
        this.value = value;
        this.index = index;
        this.stamp = stamp;
    }
}
