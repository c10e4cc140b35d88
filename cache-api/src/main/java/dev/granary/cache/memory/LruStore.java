package dev.granary.cache.memory;

import dev.granary.cache.EvictionListener;

import org.jspecify.annotations.Nullable;

/**
 * A store of the most recently used values. A hit costs one table lookup and a write to
 * thread-local memory.
 */
final class LruStore<K, V> implements ValueStore<K, V> {
    private final OpenAddressingTable<K, V> slots;
    private final EvictionListener listener;
    private final AccessStripes stripes = new AccessStripes();
    private final LogicalClock clock = new LogicalClock();
    private final ConcurrentLru<K, V> recency = new ConcurrentLru<>(stripes, clock);
    // A monitor, because it is released even after a stack overflow.
    private final Object writeLock = new Object();
    private boolean isInconsistent; // guarded by writeLock: a change began and did not end
    private volatile int capacity;

    /** Creates a store on {@code slots}, an empty table that only this store changes. */
    LruStore(OpenAddressingTable<K, V> slots, int capacity, EvictionListener listener) {
        this.slots = slots;
        this.listener = listener;
        this.capacity = capacity;
    }

    @Override
    public @Nullable V find(K key) {
        CacheSlot<K, V> slot = slots.slot(key);
        if (slot == null) {
            return null;
        }
        recordUse(slot);
        return slot.value;
    }

    /** Returns the cells for {@link AccessStripe#cellsOf}. */
    long[][] cells() {
        return stripes.cells();
    }

    /** Records a use of a slot as a hit, if {@link AccessStripe#record} has returned false. */
    void recordUse(CacheSlot<K, V> slot) {
        AccessStripe own = stripes.ofCurrentThread();
        if (own != null) {
            own.recordUse(slot.index, clock);
        } else {
            recency.recordShared(slot);
        }
    }

    @Override
    public @Nullable V peek(K key) {
        CacheSlot<K, V> slot = slots.slot(key);
        return slot == null ? null : slot.value;
    }

    @Override
    public void put(K key, V value) {
        synchronized (writeLock) {
            repair();
            if (capacity > 0) {
                isInconsistent = true;
                evictTo(capacity - 1);
                slots.add(recency.add(key, value));
                isInconsistent = false;
            }
        }
    }

    @Override
    public int size() {
        synchronized (writeLock) {
            repair();
            return recency.size();
        }
    }

    @Override
    public int capacity() {
        return capacity;
    }

    @Override
    public void setCapacity(int capacity) {
        synchronized (writeLock) {
            repair();
            this.capacity = capacity;
            isInconsistent = true;
            evictTo(capacity);
            slots.trim();
            isInconsistent = false;
        }
    }

    @Override
    public long hits() {
        return stripes.hits();
    }

    /**
     * Repairs the state after an incomplete change, for example because of a StackOverflowError.
     * Values that can still be found stay.
     */
    private void repair() {
        if (isInconsistent) {
            recency.restore(slots.restore());
            evictTo(capacity);
            isInconsistent = false;
        }
    }

    private void evictTo(int size) {
        int excess = recency.size() - size;
        if (excess > 0) {
            EvictionListener.Eviction eviction = listener.begin();
            for (int i = 0; i < excess; i++) {
                slots.remove(recency.removeOldest());
            }
            eviction.evicted(excess, 0);
        }
    }
}
