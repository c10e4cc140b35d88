package dev.granary.cache.memory;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** Keeps the values that were used last. A hit is one look-up in a map and a note in memory of its thread's own. */
final class LeastRecentlyUsed<K, V> implements Kept<K, V> {
    private final ConcurrentHashMap<K, Slot<K, V>> slots = new ConcurrentHashMap<>();
    private final Recency<K, V> recency = new Recency<>();
    private final ReentrantLock changing = new ReentrantLock(); // held while a value is added or evicted
    private volatile int capacity;

    LeastRecentlyUsed(int capacity) {
        this.capacity = capacity;
    }

    @Override
    public @Nullable V find(K key) {
        Slot<K, V> slot = slots.get(key);
        if (slot == null) {
            return null;
        }
        recency.use(slot);
        return slot.value;
    }

    @Override
    public @Nullable V peek(K key) {
        Slot<K, V> slot = slots.get(key);
        return slot == null ? null : slot.value;
    }

    @Override
    public void keep(K key, V value) {
        changing.lock();
        try {
            if (capacity > 0) {
                evictTo(capacity - 1);
                slots.put(key, recency.add(key, value));
            }
        } finally {
            changing.unlock();
        }
    }

    @Override
    public int size() {
        changing.lock();
        try {
            return recency.size();
        } finally {
            changing.unlock();
        }
    }

    @Override
    public int capacity() {
        return capacity;
    }

    @Override
    public void setCapacity(int capacity) {
        changing.lock();
        try {
            this.capacity = capacity;
            evictTo(capacity);
        } finally {
            changing.unlock();
        }
    }

    @Override
    public long hits() {
        return recency.hits();
    }

    private void evictTo(int size) {
        while (recency.size() > size) {
            slots.remove(recency.removeOldest().key);
        }
    }
}
