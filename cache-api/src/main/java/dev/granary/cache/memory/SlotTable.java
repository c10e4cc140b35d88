package dev.granary.cache.memory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The slots by key: a hash table that is looked up without a lock and changed under the lock of the caller. Open addressing with linear probing, at
 * most half full. A slot never moves within one array: who looks up meanwhile misses nothing. The array is replaced when it is too full, or full of
 * places of slots that have left.
 *
 * <p>A {@link java.util.concurrent.ConcurrentHashMap} would need an object of its own for each slot, to be read on the way of each hit. Whoever has a
 * table is one, instead of having one, for the same reason: each such object costs a tenth of a hit.
 */
abstract sealed class SlotTable<K, V> permits PrimitiveCache, RuntimeParametersCache.Partition {
    private static final VarHandle ELEMENT = MethodHandles.arrayElementVarHandle(Slot[].class);
    private static final Slot<Object, Object> GONE = new Slot<>(new Object(), 0, new Object(), -1, 0);
    private static final int LEAST = 64;
    private static final int MOST = 1 << 30;
    private static final int SPREAD = 0x9E3779B9; // Fibonacci hashing: neighbours in the hash code come to lie apart

    private volatile @Nullable Slot<?, ?>[] places = new Slot<?, ?>[LEAST];
    private int size;
    private int taken; // by slots, and by such as are gone

    /** The slot of {@code key}. Any thread. */
    final @Nullable Slot<K, V> slot(K key) {
        int hash = key.hashCode();
        @Nullable Slot<?, ?>[] array = places;
        int last = array.length - 1;
        int place = home(hash, last);
        while (true) {
            Slot<?, ?> slot = array[place]; // who finds it sees its key and value: they are final
            if (slot == null) {
                return null;
            }
            if (slot.hash == hash && (slot.key == key || (slot != GONE && key.equals(slot.key)))) {
                return own(slot);
            }
            place = (place + 1) & last;
        }
    }

    /** Adds a slot whose key is not there. */
    final void add(Slot<K, V> slot) {
        if (taken + 1 > places.length / 8 * 3) {
            fit(size + 1);
        }
        taken += insert(places, slot) ? 1 : 0;
        size++;
    }

    /** Takes out a slot that is there. */
    final void remove(Slot<K, V> slot) {
        @Nullable Slot<?, ?>[] array = places;
        int last = array.length - 1;
        int place = home(slot.hash, last);
        while (array[place] != slot) {
            Objects.requireNonNull(array[place], "A slot to be removed is not there");
            place = (place + 1) & last;
        }
        ELEMENT.setRelease(array, place, GONE);
        size--;
    }

    /** Gives memory back, after many have left. */
    final void trim() {
        if (places.length > LEAST && size < places.length / 16) {
            fit(size);
        }
    }

    private void fit(int count) {
        int length = LEAST;
        while (length < MOST && length < 4L * count) {
            length <<= 1;
        }
        @Nullable Slot<?, ?>[] next = new Slot<?, ?>[length];
        for (Slot<?, ?> slot : places) {
            if (slot != null && slot != GONE) {
                insert(next, slot);
            }
        }
        taken = size;
        places = next;
    }

    /** True where the slot has a place that was never taken. */
    private static boolean insert(@Nullable Slot<?, ?>[] array, Slot<?, ?> slot) {
        int last = array.length - 1;
        int place = home(slot.hash, last);
        while (array[place] != null && array[place] != GONE) {
            place = (place + 1) & last;
        }
        boolean isFresh = array[place] == null;
        ELEMENT.setRelease(array, place, slot);
        return isFresh;
    }

    private static int home(int hash, int last) {
        return (hash * SPREAD) >>> Integer.numberOfLeadingZeros(last);
    }

    @SuppressWarnings("unchecked")
    private static <K, V> Slot<K, V> own(Slot<?, ?> slot) {
        return (Slot<K, V>) slot;
    }
}
