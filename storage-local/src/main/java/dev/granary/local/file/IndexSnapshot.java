package dev.granary.local.file;

import dev.granary.local.config.EvictionPolicy;

import java.util.Arrays;

/**
 * Snapshot of the entries of an index, in the order of their locations. It needs about 40 bytes per
 * entry and no object for each, since a sweep may hold a million entries. Immutable.
 */
public final class IndexSnapshot {
    private static final int NONE = -1;

    private final EntryIndex index;
    private final long[] locations; // sorted
    private final int[] slots;
    private final int[] units;
    private final long[] used;
    private final long[] stored;

    private IndexSnapshot(EntryIndex index, long[] locations) {
        this.index = index;
        this.locations = locations;
        this.slots = new int[locations.length];
        this.units = new int[locations.length];
        this.used = new long[locations.length];
        this.stored = new long[locations.length];
    }

    public static IndexSnapshot of(EntryIndex index) {
        long[] locations = new long[EntryIndex.MIN_SLOTS];
        int size = 0;
        for (int slot = 0; slot < index.count(); slot++) {
            long location = index.location(slot);
            if (location != 0) {
                locations =
                        size == locations.length ? Arrays.copyOf(locations, 2 * size) : locations;
                locations[size++] = location;
            }
        }
        long[] sorted = Arrays.copyOf(locations, size);
        Arrays.sort(sorted);
        IndexSnapshot snapshot = new IndexSnapshot(index, sorted);
        snapshot.fill();
        return snapshot;
    }

    /**
     * Fills the columns. Several slots may have one location if one of them is damaged: each gets
     * its own rank.
     */
    private void fill() {
        Arrays.fill(slots, NONE);
        int[] taken = new int[0]; // per run of equal locations, counted at its first rank
        for (int slot = 0; slot < index.count(); slot++) {
            long location = index.location(slot);
            int rank = location == 0 ? -1 : rankOf(location);
            if (rank >= 0 && slots[rank] != NONE) {
                taken = taken.length == 0 ? new int[slots.length] : taken;
                taken[rank]++;
                rank += taken[rank];
                rank = rank < slots.length && locations[rank] == location ? rank : -1;
            }
            if (rank >= 0) { // otherwise it was inserted after the first pass
                slots[rank] = slot;
                units[rank] = (int) index.units(slot);
                used[rank] = index.usedMicros(slot);
                stored[rank] = index.storedSeconds(slot);
            }
        }
    }

    /** Returns the first rank with this location, or -1. */
    private int rankOf(long location) {
        int first = firstFrom(location);
        return first < locations.length && locations[first] == location ? first : -1;
    }

    /** Returns the first rank with this location or a higher one. */
    private int firstFrom(long location) {
        int low = 0;
        int high = locations.length;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (locations[middle] < location) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    /**
     * Returns whether the snapshot has an entry at this location with at least {@code minUnits}
     * units.
     */
    public boolean has(long location, long minUnits) {
        for (int rank = firstFrom(location);
                rank < locations.length && locations[rank] == location;
                rank++) {
            if (units(rank) >= minUnits) {
                return true;
            }
        }
        return false;
    }

    public int size() {
        return locations.length;
    }

    public long location(int rank) {
        return locations[rank];
    }

    public EntryIndex index() {
        return index;
    }

    /**
     * Returns the slot of the entry. For an entry that was removed while the snapshot was taken,
     * that slot does not have its location.
     */
    public int slot(int rank) {
        return Math.max(0, slots[rank]);
    }

    /** Returns the tag of the entry in the index. */
    public long tag(int rank) {
        return index.tagOf(slot(rank));
    }

    /**
     * Returns the number of units of the entry, or 0 if it was removed while the snapshot was
     * taken.
     */
    public long units(int rank) {
        return Integer.toUnsignedLong(units[rank]);
    }

    public long allUnits() {
        long sum = 0;
        for (int rank = 0; rank < units.length; rank++) {
            sum += units(rank);
        }
        return sum;
    }

    /** Returns the rank of the first entry in this segment or a later one. */
    public int firstOf(int segment) {
        return firstFrom(EntryLocation.location(segment, 0));
    }

    /**
     * Returns the ranks of all entries in the order of eviction; entries of the same age are
     * ordered by location.
     */
    public int[] byAge(EvictionPolicy policy) {
        long[] stamps =
                switch (policy) {
                    case LRU -> used;
                    case FIFO -> stored;
                };
        long oldest = Long.MAX_VALUE;
        long newest = 0;
        for (long stamp : stamps) {
            oldest = Math.min(oldest, stamp);
            newest = Math.max(newest, stamp);
        }
        // Time and rank in one number are sorted without an object per entry. The time has 32 bits:
        // microseconds if all times lie within an hour.
        int shift = Math.max(
                0,
                Long.SIZE - Long.numberOfLeadingZeros(Math.max(0, newest - oldest)) - Integer.SIZE);
        long[] keys = new long[stamps.length];
        for (int rank = 0; rank < keys.length; rank++) {
            keys[rank] = ((stamps[rank] - oldest) >>> shift << Integer.SIZE) | rank;
        }
        Arrays.sort(flipped(keys));
        int[] ranks = new int[keys.length];
        for (int i = 0; i < ranks.length; i++) {
            ranks[i] = (int) keys[i];
        }
        return ranks;
    }

    /**
     * Flips the sign bits in place, so that a signed sort orders unsigned keys. The ranks in the
     * low half are unaffected.
     */
    private static long[] flipped(long[] keys) {
        for (int i = 0; i < keys.length; i++) {
            keys[i] ^= Long.MIN_VALUE;
        }
        return keys;
    }
}
