package dev.granary.cache.memory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The slots by key: a hash table that is looked up without a lock and changed under the lock of the caller. Open addressing with linear probing, at
 * most three eighths full. A slot that is taken out leaves no gap: those behind it move up (Knuth, The Art of Computer Programming 3, 6.4, algorithm
 * R), so that a table whose slots come and go is as quick as a fresh one. Who looks up meanwhile may miss a slot that moves, so what is not found
 * counts as absent only when none has moved.
 *
 * <p>A {@link java.util.concurrent.ConcurrentHashMap} would need an object of its own for each slot, to be read on the way of each hit. Whoever has a
 * table is one, instead of having one, for the same reason: each such object costs a tenth of a hit.
 */
abstract sealed class OpenAddressingTable<K, V> permits PrimitiveCache, RuntimeParametersCache.Partition {
    private static final VarHandle ELEMENT = MethodHandles.arrayElementVarHandle(CacheSlot[].class);
    private static final int LEAST = 64;
    private static final int MOST = 1 << 30;
    private static final int SPREAD = 0x9E3779B9; // Fibonacci hashing: neighbours in the hash code come to lie apart

    private volatile @Nullable CacheSlot<?, ?>[] places = new CacheSlot<?, ?>[LEAST];
    private volatile int moved; // how many slots: counted after each is at its new place, before it leaves the old one
    private int size;

    /** The slot of {@code key}; null where it is absent. Any thread. */
    final @Nullable CacheSlot<K, V> slot(K key) {
        while (true) {
            int before = moved;
            @Nullable CacheSlot<?, ?>[] array = places;
            CacheSlot<K, V> slot = find(array, key);
            VarHandle.acquireFence();
            if (slot != null || (moved == before && places == array)) {
                return slot;
            }
        }
    }

    /**
     * The slot of {@code key} at first sight; null where it is absent, or moves in this moment. Any thread. Most lie at home: the way on is apart, so that
     * nothing that it needs is kept while keys are compared.
     */
    final @Nullable CacheSlot<K, V> glance(K key) {
        @Nullable CacheSlot<?, ?>[] array = places;
        int hash = key.hashCode();
        CacheSlot<?, ?> slot = array[home(hash, array.length - 1)];
        if (slot == null) {
            return null;
        }
        boolean isAtHome = slot.hash == hash && (key == slot.key || key.equals(slot.key));
        return isAtHome ? own(slot) : find(array, key);
    }

    private static <K, V> @Nullable CacheSlot<K, V> find(@Nullable CacheSlot<?, ?>[] array, K key) {
        int hash = key.hashCode();
        int last = array.length - 1;
        int place = home(hash, last);
        while (true) {
            CacheSlot<?, ?> slot = array[place]; // who finds it sees its key and value: they are final
            if (slot == null) {
                return null;
            }
            if (slot.hash == hash && (key == slot.key || key.equals(slot.key))) {
                return own(slot);
            }
            place = (place + 1) & last;
        }
    }

    /** Adds a slot whose key is not there. */
    final void add(CacheSlot<K, V> slot) {
        if (size + 1 > places.length / 8 * 3) {
            fit(size + 1);
        }
        insert(places, slot);
        size++;
    }

    /** Takes out a slot that is there. */
    final void remove(CacheSlot<K, V> slot) {
        @Nullable CacheSlot<?, ?>[] array = places;
        int last = array.length - 1;
        int place = home(slot.hash, last);
        while (array[place] != slot) {
            Objects.requireNonNull(array[place], "A slot to be removed is not there");
            place = (place + 1) & last;
        }
        empty(array, place);
        size--;
    }

    /** Empties a place, and moves up the slots behind it that would not be found otherwise. */
    @SuppressWarnings("NonAtomicVolatileUpdate") // only changed under the caller's lock
    private void empty(@Nullable CacheSlot<?, ?>[] array, int place) {
        int last = array.length - 1;
        int hole = place;
        int at = (hole + 1) & last;
        for (CacheSlot<?, ?> slot = array[at]; slot != null; slot = array[at]) {
            boolean isReachedOverHole = ((at - home(slot.hash, last)) & last) >= ((at - hole) & last);
            if (isReachedOverHole) {
                ELEMENT.setRelease(array, hole, slot);
                moved++;
                hole = at;
            }
            at = (at + 1) & last;
        }
        ELEMENT.setRelease(array, hole, null);
    }

    /** Gives memory back, after many have left. */
    final void trim() {
        if (places.length > LEAST && size < places.length / 16) {
            fit(size);
        }
    }

    /** Makes the table whole, whatever change was cut short: each slot that is there stays, once. Returns them all. */
    final List<CacheSlot<K, V>> restore() {
        Set<CacheSlot<?, ?>> found = Collections.newSetFromMap(new IdentityHashMap<>());
        List<CacheSlot<K, V>> all = new ArrayList<>();
        for (CacheSlot<?, ?> slot : places) {
            if (slot != null && found.add(slot)) { // twice, where it was about to move
                all.add(own(slot));
            }
        }
        @Nullable CacheSlot<?, ?>[] next = new CacheSlot<?, ?>[lengthFor(all.size())];
        all.forEach(slot -> insert(next, slot));
        places = next;
        size = all.size();
        return all;
    }

    private static int lengthFor(int count) {
        int length = LEAST;
        while (length < MOST && length < 4L * count) {
            length <<= 1;
        }
        return length;
    }

    private void fit(int count) {
        @Nullable CacheSlot<?, ?>[] next = new CacheSlot<?, ?>[lengthFor(count)];
        for (CacheSlot<?, ?> slot : places) {
            if (slot != null) {
                insert(next, slot);
            }
        }
        places = next;
    }

    private static void insert(@Nullable CacheSlot<?, ?>[] array, CacheSlot<?, ?> slot) {
        int last = array.length - 1;
        int place = home(slot.hash, last);
        while (array[place] != null) {
            place = (place + 1) & last;
        }
        ELEMENT.setRelease(array, place, slot);
    }

    private static int home(int hash, int last) {
        int spread = hash * SPREAD;
        return (spread ^ spread >>> Short.SIZE) & last; // not the highest bits by a shift: the shift would wait for the array's length
    }

    @SuppressWarnings("unchecked")
    private static <K, V> CacheSlot<K, V> own(CacheSlot<?, ?> slot) {
        return (CacheSlot<K, V>) slot;
    }
}
