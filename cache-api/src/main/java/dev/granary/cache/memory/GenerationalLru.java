package dev.granary.cache.memory;

import org.jspecify.annotations.Nullable;

import java.util.Arrays;
import java.util.List;

/**
 * An LRU order of values that are sorted once per generation. Values are numbered, so that their
 * last use is recorded in an array.
 *
 * <p>Eviction sorts all values by their last use once, and then removes them in that order. A value
 * used since the sort is skipped, because it is newer than all that were sorted. Values are sorted
 * again only when none is left. Each value is thus examined once per removal or use. The number of
 * values affects the cost of an eviction only through memory latency.
 */
abstract class GenerationalLru<K, V> {
    private static final int INITIAL_SLOTS = 64;
    // unused numbers beyond the size before renumbering
    private static final int MAX_UNUSED = 64;
    private static final long NONE = -1; // not a time

    private @Nullable CacheSlot<K, V>[] slots = array(INITIAL_SLOTS);
    private volatile long[] lastUses = new long[INITIAL_SLOTS]; // by number; not from stripes
    private int end; // exclusive upper bound of the numbers
    private int[] free = new int[INITIAL_SLOTS];
    private int freeCount;
    // last use and number of each sorted value; reused to avoid garbage
    private long[] queue = {};
    private int next; // the next position in the queue
    private int queued; // the end of the queue
    private long base; // the time that queued times are relative to
    private int numberBits;

    /**
     * Returns the time of the last use of the value with {@code number}, which never decreases. By
     * default it is the time recorded here.
     */
    long lastUse(int number) {
        return lastUses[number];
    }

    /** Records a use of a value at {@code now}. Any thread may call it. */
    final void recordUse(CacheSlot<K, V> slot, long now) {
        long[] current;
        do {
            current = lastUses;
            int number = slot.index;
            if (number < current.length) {
                current[number] = Math.max(current[number], now);
            }
        } while (current != lastUses);
    }

    /**
     * Records a use of a value at {@code now}, later than all others. Only for single-threaded use.
     */
    final void recordUnshared(CacheSlot<K, V> slot, long now) {
        lastUses[slot.index] = now;
    }

    /**
     * Called when values are renumbered: uses recorded elsewhere were copied here and must be
     * discarded there.
     */
    abstract void onRenumber();

    final int size() {
        return end - freeCount;
    }

    /** Adds a value, used at {@code now}, later than all others, and returns its slot. */
    final CacheSlot<K, V> add(K key, V value, long now) {
        int number = freeCount > 0 ? free[--freeCount] : end++;
        if (number == slots.length) {
            slots = Arrays.copyOf(slots, 2 * number);
            lastUses = Arrays.copyOf(lastUses, 2 * number);
        }
        lastUses[number] = now;
        CacheSlot<K, V> slot = new CacheSlot<>(key, key.hashCode(), value, number);
        slots[number] = slot;
        return slot;
    }

    /** Removes and returns the least recently used value; there must be one. */
    final CacheSlot<K, V> removeOldest() {
        while (next < queued) {
            int number = number(queue[next]);
            long sortedUse = base + (queue[next++] >>> numberBits);
            if (lastUse(number) <= sortedUse) {
                return remove(number);
            }
        }
        sort();
        return remove(number(queue[next++])); // even if it is used concurrently
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
        if (freeCount > size() + MAX_UNUSED) {
            renumber();
        }
        if (queue.length != slots.length) {
            queue = new long[slots.length];
        }
        long oldest = Long.MAX_VALUE;
        long latest = 0;
        for (int i = 0; i < end; i++) {
            boolean isPresent = slots[i] != null;
            queue[i] = isPresent ? lastUse(i) : NONE;
            oldest = isPresent ? Math.min(oldest, queue[i]) : oldest;
            latest = Math.max(latest, queue[i]);
        }
        numberBits = Integer.SIZE - Integer.numberOfLeadingZeros(end);
        // Older uses count as equally old. With a million values that is days of continuous hits.
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

    private int number(long queueEntry) {
        return (int) (queueEntry & ((1L << numberBits) - 1));
    }

    /** Gives the values the lowest numbers, after many removals. */
    private void renumber() {
        CacheSlot<K, V>[] compacted = array(Math.max(INITIAL_SLOTS, size()));
        long[] uses = new long[compacted.length];
        int count = 0;
        for (int i = 0; i < end; i++) {
            CacheSlot<K, V> slot = slots[i];
            if (slot != null) {
                uses[count] = lastUse(i);
                compacted[count++] = slot;
            }
        }
        onRenumber();
        for (int i = 0; i < count; i++) {
            slot(compacted, i).index = i;
        }
        slots = compacted;
        lastUses = uses;
        end = count;
        free = new int[INITIAL_SLOTS];
        freeCount = 0;
    }

    /**
     * Resets this order to these slots, whatever state an error left it in. They are ordered by
     * their last use as far as it is known.
     */
    final void restore(List<CacheSlot<K, V>> present) {
        CacheSlot<K, V>[] compacted = array(Math.max(INITIAL_SLOTS, present.size()));
        long[] uses = new long[compacted.length];
        for (int i = 0; i < present.size(); i++) {
            CacheSlot<K, V> slot = present.get(i);
            compacted[i] = slot;
            uses[i] = slot.index < lastUses.length ? lastUse(slot.index) : 0;
        }
        onRenumber();
        for (int i = 0; i < present.size(); i++) {
            present.get(i).index = i;
        }
        slots = compacted;
        lastUses = uses;
        end = present.size();
        free = new int[INITIAL_SLOTS];
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
