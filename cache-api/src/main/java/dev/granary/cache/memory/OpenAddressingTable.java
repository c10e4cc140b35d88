package dev.granary.cache.memory;

import org.jspecify.annotations.Nullable;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * A hash table of slots that is read without a lock and changed under the caller's lock. It uses
 * open addressing with linear probing and a load factor of at most 3/8. A removal leaves no gap:
 * the slots behind it move up (Knuth, The Art of Computer Programming 3, 6.4, algorithm R). The
 * table thus stays fast under additions and removals. A concurrent lookup may miss a moving slot,
 * so an absent key is confirmed only if no slot has moved.
 *
 * <p>A {@link java.util.concurrent.ConcurrentHashMap} would add one object per slot to the path of
 * each hit. For the same reason caches extend this class instead of having a table: each such
 * indirection costs a tenth of a hit.
 */
abstract sealed class OpenAddressingTable<K, V>
        permits PrimitiveCache, RuntimeParametersCache.Partition {
    private static final VarHandle ELEMENT = MethodHandles.arrayElementVarHandle(CacheSlot[].class);
    private static final int MIN_LENGTH = 64;
    private static final int MAX_LENGTH = 1 << 30;
    // Fibonacci hashing: spreads adjacent hash codes
    private static final int SPREAD = 0x9E3779B9;

    private volatile @Nullable CacheSlot<?, ?>[] table = new CacheSlot<?, ?>[MIN_LENGTH];
    // slots moved: incremented between the copy and the removal of each
    private volatile int moved;
    private int size;

    /** Returns the slot of {@code key}, or null if it is absent. Any thread may call it. */
    final @Nullable CacheSlot<K, V> slot(K key) {
        while (true) {
            int before = moved;
            @Nullable CacheSlot<?, ?>[] array = table;
            CacheSlot<K, V> slot = find(array, key);
            VarHandle.acquireFence();
            if (slot != null || (moved == before && table == array)) {
                return slot;
            }
        }
    }

    /**
     * Returns the slot of {@code key}, or null if it is absent or is moving. Any thread may call
     * it. Most slots are at their home index; the remaining probes are a separate method to free
     * registers while keys are compared.
     */
    final @Nullable CacheSlot<K, V> findOnce(K key) {
        @Nullable CacheSlot<?, ?>[] array = table;
        int hash = key.hashCode();
        CacheSlot<?, ?> slot = array[home(hash, array.length - 1)];
        if (slot == null) {
            return null;
        }
        boolean isAtHome = slot.hash == hash && (key == slot.key || key.equals(slot.key));
        return isAtHome ? cast(slot) : find(array, key);
    }

    private static <K, V> @Nullable CacheSlot<K, V> find(@Nullable CacheSlot<?, ?>[] array, K key) {
        int hash = key.hashCode();
        int mask = array.length - 1;
        int index = home(hash, mask);
        while (true) {
            CacheSlot<?, ?> slot = array[index]; // final fields make its key and value visible
            if (slot == null) {
                return null;
            }
            if (slot.hash == hash && (key == slot.key || key.equals(slot.key))) {
                return cast(slot);
            }
            index = (index + 1) & mask;
        }
    }

    /** Adds a slot whose key is absent. */
    final void add(CacheSlot<K, V> slot) {
        if (size + 1 > table.length / 8 * 3) {
            resize(size + 1);
        }
        insert(table, slot);
        size++;
    }

    /** Removes a slot that is present. */
    final void remove(CacheSlot<K, V> slot) {
        @Nullable CacheSlot<?, ?>[] array = table;
        int mask = array.length - 1;
        int index = home(slot.hash, mask);
        while (array[index] != slot) {
            Objects.requireNonNull(array[index], "A slot to be removed is absent");
            index = (index + 1) & mask;
        }
        removeAt(array, index);
        size--;
    }

    /**
     * Removes the slot at an index and moves up the slots behind it that would become unreachable.
     */
    @SuppressWarnings("NonAtomicVolatileUpdate") // only changed under the caller's lock
    private void removeAt(@Nullable CacheSlot<?, ?>[] array, int index) {
        int mask = array.length - 1;
        int hole = index;
        int probe = (hole + 1) & mask;
        for (CacheSlot<?, ?> slot = array[probe]; slot != null; slot = array[probe]) {
            boolean isReachedAcrossHole =
                    ((probe - home(slot.hash, mask)) & mask) >= ((probe - hole) & mask);
            if (isReachedAcrossHole) {
                ELEMENT.setRelease(array, hole, slot);
                moved++;
                hole = probe;
            }
            probe = (probe + 1) & mask;
        }
        ELEMENT.setRelease(array, hole, null);
    }

    /** Shrinks the table after many removals. */
    final void trim() {
        if (table.length > MIN_LENGTH && size < table.length / 16) {
            resize(size);
        }
    }

    /**
     * Rebuilds the table after an incomplete change and returns all slots. Each present slot stays,
     * once.
     */
    final List<CacheSlot<K, V>> restore() {
        Set<CacheSlot<?, ?>> found = Collections.newSetFromMap(new IdentityHashMap<>());
        List<CacheSlot<K, V>> all = new ArrayList<>();
        for (CacheSlot<?, ?> slot : table) {
            if (slot != null && found.add(slot)) { // present twice if it was moving
                all.add(cast(slot));
            }
        }
        @Nullable CacheSlot<?, ?>[] next = new CacheSlot<?, ?>[lengthFor(all.size())];
        all.forEach(slot -> insert(next, slot));
        table = next;
        size = all.size();
        return all;
    }

    private static int lengthFor(int count) {
        int length = MIN_LENGTH;
        while (length < MAX_LENGTH && length < 4L * count) {
            length <<= 1;
        }
        return length;
    }

    private void resize(int count) {
        @Nullable CacheSlot<?, ?>[] next = new CacheSlot<?, ?>[lengthFor(count)];
        for (CacheSlot<?, ?> slot : table) {
            if (slot != null) {
                insert(next, slot);
            }
        }
        table = next;
    }

    private static void insert(@Nullable CacheSlot<?, ?>[] array, CacheSlot<?, ?> slot) {
        int mask = array.length - 1;
        int index = home(slot.hash, mask);
        while (array[index] != null) {
            index = (index + 1) & mask;
        }
        ELEMENT.setRelease(array, index, slot);
    }

    private static int home(int hash, int mask) {
        int spread = hash * SPREAD;
        // Not the highest bits by a shift, which would depend on the array's length.
        return (spread ^ spread >>> Short.SIZE) & mask;
    }

    @SuppressWarnings("unchecked")
    private static <K, V> CacheSlot<K, V> cast(CacheSlot<?, ?> slot) {
        return (CacheSlot<K, V>) slot;
    }
}
