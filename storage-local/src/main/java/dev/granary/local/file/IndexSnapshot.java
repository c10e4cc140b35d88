package dev.granary.local.file;

import dev.granary.local.config.EvictionPolicy;
import java.util.Arrays;

/**
 * The entries of an index as they were at a moment, in the order in which they lie on the disk. Some 40 bytes per entry: a sweep holds a
 * million of them without an object for each. Immutable.
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
                locations = size == locations.length ? Arrays.copyOf(locations, 2 * size) : locations;
                locations[size++] = location;
            }
        }
        long[] sorted = Arrays.copyOf(locations, size);
        Arrays.sort(sorted);
        IndexSnapshot snapshot = new IndexSnapshot(index, sorted);
        snapshot.fill();
        return snapshot;
    }

    /** Several slots may lead to one location where one of them rotted: each has a rank of its own. */
    private void fill() {
        Arrays.fill(slots, NONE);
        int[] taken = new int[0]; // of a run of equal locations, at its first rank
        for (int slot = 0; slot < index.count(); slot++) {
            long location = index.location(slot);
            int rank = location == 0 ? -1 : rankOf(location);
            if (rank >= 0 && slots[rank] != NONE) {
                taken = taken.length == 0 ? new int[slots.length] : taken;
                taken[rank]++;
                rank += taken[rank];
                rank = rank < slots.length && locations[rank] == location ? rank : -1;
            }
            if (rank >= 0) { // else it came meanwhile
                slots[rank] = slot;
                units[rank] = (int) index.units(slot);
                used[rank] = index.usedMicros(slot);
                stored[rank] = index.storedSeconds(slot);
            }
        }
    }

    /** The first rank with that location; -1 where there is none. */
    private int rankOf(long location) {
        int first = firstFrom(location);
        return first < locations.length && locations[first] == location ? first : -1;
    }

    /** The first rank with that location or a later one. */
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

    /** True where it has an entry there that takes as much, or more. */
    public boolean has(long location, long wanted) {
        for (int rank = firstFrom(location); rank < locations.length && locations[rank] == location; rank++) {
            if (units(rank) >= wanted) {
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

    /** In which slot; of an entry that went while the snapshot was taken, one that does not lead to its location. */
    public int slot(int rank) {
        return Math.max(0, slots[rank]);
    }

    /** What the index marks the entry with. */
    public long tag(int rank) {
        return index.tagOf(slot(rank));
    }

    /** How many units the entry takes; 0 where it went while the snapshot was taken. */
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

    /** The rank of the first entry in that segment or a later one. */
    public int firstOf(int segment) {
        return firstFrom(EntryLocation.location(segment, 0));
    }

    /** The ranks of all entries, those that leave first at the beginning; of the same age, those that lie first. */
    public int[] byAge(EvictionPolicy policy) {
        long[] stamps = switch (policy) {
            case LRU -> used;
            case FIFO -> stored;
        };
        long oldest = Long.MAX_VALUE;
        long newest = 0;
        for (long stamp : stamps) {
            oldest = Math.min(oldest, stamp);
            newest = Math.max(newest, stamp);
        }
        // Stamp and rank in one number sort without an object per entry. The stamp has 32 bits: microseconds as long as the span is an hour.
        int shift = Math.max(0, Long.SIZE - Long.numberOfLeadingZeros(Math.max(0, newest - oldest)) - Integer.SIZE);
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

    /** Makes a signed sort an unsigned one; the sign bit is flipped in place and stays so, which the ranks in the low half do not see. */
    private static long[] flipped(long[] keys) {
        for (int i = 0; i < keys.length; i++) {
            keys[i] ^= Long.MIN_VALUE;
        }
        return keys;
    }
}
