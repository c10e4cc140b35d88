package dev.granary.cache.memory;

import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Knows of all kept values which was used longest ago. Values are numbered, so that a use can be noted in an array.
 *
 * <p>For eviction all values are sorted by their last use, once, and then taken in that order; one that was used since is passed over: it is
 * younger than all that were sorted. Only when none is left they are sorted again. So of all values each is looked at once for each time that it
 * leaves or was used: the cost of an eviction does not grow with their number, but that of memory does.
 */
abstract class GenerationalLru<K, V> {
    private static final int FIRST_SLOTS = 64;
    private static final int SLACK = 64; // numbers that may be unused before the values are numbered anew
    private static final long NONE = -1; // no stamp

    private @Nullable CacheSlot<K, V>[] slots = array(FIRST_SLOTS);
    private volatile long[] stamps = new long[FIRST_SLOTS]; // by number: when a value was added, or used where no stripe notes it
    private int end; // no number is as high
    private int[] free = new int[FIRST_SLOTS];
    private int freeCount;
    private long[] queue = {}; // stamp and number of each value when they were sorted; used again, lest each generation leave a large array
    private int next; // in the queue
    private int queued; // its end
    private long base; // what stamps in the queue are counted from
    private int numberBits;

    /** When the value with {@code number} was last used; never less than before. By default the time that was noted here. */
    long stamp(int number) {
        return stamps[number];
    }

    /** Notes that a value was used at {@code now}. Any thread. */
    final void note(CacheSlot<K, V> slot, long now) {
        long[] noted;
        do {
            noted = stamps;
            int number = slot.index;
            if (number < noted.length) {
                noted[number] = Math.max(noted[number], now);
            }
        } while (noted != stamps);
    }

    /** Notes that a value was used at {@code now}, later than all. Where only one thread uses this. */
    final void noteAlone(CacheSlot<K, V> slot, long now) {
        stamps[slot.index] = now;
    }

    /** The values have other numbers from now on, and what was noted elsewhere is noted here. */
    abstract void renumbered();

    final int size() {
        return end - freeCount;
    }

    /** A slot for a new value, used at {@code now}, later than all. */
    final CacheSlot<K, V> add(K key, V value, long now) {
        int number = freeCount > 0 ? free[--freeCount] : end++;
        if (number == slots.length) {
            slots = Arrays.copyOf(slots, 2 * number);
            stamps = Arrays.copyOf(stamps, 2 * number);
        }
        stamps[number] = now;
        CacheSlot<K, V> slot = new CacheSlot<>(key, key.hashCode(), value, number);
        slots[number] = slot;
        return slot;
    }

    /** Takes out the value that was used longest ago; there must be one. */
    final CacheSlot<K, V> removeOldest() {
        while (next < queued) {
            int number = number(queue[next]);
            long known = base + (queue[next++] >>> numberBits);
            if (stamp(number) <= known) {
                return remove(number);
            }
        }
        sort();
        return remove(number(queue[next++])); // whatever threads do in this moment
    }

    private CacheSlot<K, V> remove(int number) {
        CacheSlot<K, V> slot = slot(slots, number);
        slots[number] = null;
        if (freeCount == free.length) {
            free = Arrays.copyOf(free, 2 * freeCount);
        }
        free[freeCount++] = number;
        return slot;
    }

    private void sort() {
        if (freeCount > size() + SLACK) {
            renumber();
        }
        if (queue.length != slots.length) {
            queue = new long[slots.length];
        }
        long oldest = Long.MAX_VALUE;
        long latest = 0;
        for (int i = 0; i < end; i++) {
            boolean isThere = slots[i] != null;
            queue[i] = isThere ? stamp(i) : NONE;
            oldest = isThere ? Math.min(oldest, queue[i]) : oldest;
            latest = Math.max(latest, queue[i]);
        }
        numberBits = Integer.SIZE - Integer.numberOfLeadingZeros(end);
        // Beyond so many uses back, which for a million values is days of nothing but hits, all count as equally old.
        base = Math.max(oldest, latest - (Long.MAX_VALUE >>> numberBits));
        next = 0;
        queued = 0;
        for (int i = 0; i < end; i++) {
            if (queue[i] != NONE) {
                queue[queued++] = (Math.max(queue[i], base) - base) << numberBits | i;
            }
        }
        Arrays.sort(queue, 0, queued);
    }

    private int number(long entry) {
        return (int) (entry & ((1L << numberBits) - 1));
    }

    /** Gives the values the lowest numbers, after many have left. */
    private void renumber() {
        CacheSlot<K, V>[] kept = array(Math.max(FIRST_SLOTS, size()));
        long[] used = new long[kept.length];
        int count = 0;
        for (int i = 0; i < end; i++) {
            CacheSlot<K, V> slot = slots[i];
            if (slot != null) {
                used[count] = stamp(i);
                kept[count++] = slot;
            }
        }
        renumbered();
        for (int i = 0; i < count; i++) {
            slot(kept, i).index = i;
        }
        slots = kept;
        stamps = used;
        end = count;
        free = new int[FIRST_SLOTS];
        freeCount = 0;
    }

    /** Starts anew with those slots, in the order of their last use as far as that is known, whatever state this is in. */
    final void restore(List<CacheSlot<K, V>> present) {
        CacheSlot<K, V>[] kept = array(Math.max(FIRST_SLOTS, present.size()));
        long[] used = new long[kept.length];
        for (int i = 0; i < present.size(); i++) {
            CacheSlot<K, V> slot = present.get(i);
            kept[i] = slot;
            used[i] = slot.index < stamps.length ? stamp(slot.index) : 0;
        }
        renumbered();
        for (int i = 0; i < present.size(); i++) {
            present.get(i).index = i;
        }
        slots = kept;
        stamps = used;
        end = present.size();
        free = new int[FIRST_SLOTS];
        freeCount = 0;
        next = 0;
        queued = 0;
    }

    private static <K, V> CacheSlot<K, V> slot(@Nullable CacheSlot<K, V>[] slots, int number) {
        CacheSlot<K, V> slot = slots[number];
        if (slot == null) {
            throw new IllegalStateException("No value has the number " + number);
        }
        return slot;
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static <K, V> @Nullable CacheSlot<K, V>[] array(int length) {
        return new CacheSlot[length];
    }
}
