package dev.granary.cache.memory;

import org.jspecify.annotations.Nullable;

/** Keeps the values that were used last. A hit is one look-up in a table and a note in memory of its thread's own. */
final class LruStore<K, V> implements ValueStore<K, V> {
    private final OpenAddressingTable<K, V> slots;
    private final AccessStripes stripes = new AccessStripes();
    private final LogicalClock clock = new LogicalClock();
    private final ConcurrentLru<K, V> recency = new ConcurrentLru<>(stripes, clock);
    private final Object changing = new Object(); // held while a value is added or evicted; a monitor is let go whatever overflows
    private boolean isTorn; // guarded by changing: a change has begun and did not end
    private volatile int capacity;

    /** Keeps in {@code slots}, an empty table, which nobody else changes. */
    LruStore(OpenAddressingTable<K, V> slots, int capacity) {
        this.slots = slots;
        this.capacity = capacity;
    }

    @Override
    public @Nullable V find(K key) {
        CacheSlot<K, V> slot = slots.slot(key);
        if (slot == null) {
            return null;
        }
        use(slot);
        return slot.value;
    }

    /** What {@link AccessStripe#note} takes: the whole of a usual hit. */
    long[][] notes() {
        return stripes.notes();
    }

    /** Notes that a slot of the table is used now, and counts it as a hit, where {@link AccessStripe#note} does not. */
    void use(CacheSlot<K, V> slot) {
        AccessStripe mine = stripes.mine();
        if (mine != null) {
            mine.use(slot.index, clock);
        } else {
            recency.useOfCrowd(slot);
        }
    }

    @Override
    public @Nullable V peek(K key) {
        CacheSlot<K, V> slot = slots.slot(key);
        return slot == null ? null : slot.value;
    }

    @Override
    public void keep(K key, V value) {
        synchronized (changing) {
            mend();
            if (capacity > 0) {
                isTorn = true;
                evictTo(capacity - 1);
                slots.add(recency.add(key, value));
                isTorn = false;
            }
        }
    }

    @Override
    public int size() {
        synchronized (changing) {
            mend();
            return recency.size();
        }
    }

    @Override
    public int capacity() {
        return capacity;
    }

    @Override
    public void setCapacity(int capacity) {
        synchronized (changing) {
            mend();
            this.capacity = capacity;
            isTorn = true;
            evictTo(capacity);
            slots.trim();
            isTorn = false;
        }
    }

    @Override
    public long hits() {
        return stripes.hits();
    }

    /** Makes whole what an error has left halfway, such as one of a stack that was used up. What can still be looked up stays. */
    private void mend() {
        if (isTorn) {
            recency.restore(slots.restore());
            evictTo(capacity);
            isTorn = false;
        }
    }

    private void evictTo(int size) {
        while (recency.size() > size) {
            slots.remove(recency.removeOldest());
        }
    }
}
