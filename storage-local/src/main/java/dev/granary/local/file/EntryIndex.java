package dev.granary.local.file;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Index of the entries: a table, mapped by every process, of their locations, lengths, and times of
 * storing and last use.
 *
 * <p>Open addressing with linear probing (Knuth, The Art of Computer Programming, vol. 3, 6.4,
 * algorithm L). A slot holds the first 8 bytes of the id's digest (the tag), the location, and the
 * fields that eviction needs. Only the holder of the commit lock writes, in an order that permits
 * reading at any time: the location is written last and cleared first. If a slot changes during a
 * read, the bytes at its location fail the verification. A damaged slot leads to such a miss as
 * well.
 *
 * <p>The table has no header: the file length gives its size, the file name its generation. So each
 * damaged byte affects at most one entry.
 */
public final class EntryIndex {
    public static final int SLOT_BYTES = 32;
    public static final int MIN_SLOTS = 4096;

    private static final int MAX_SLOTS = 1 << 25; // limit of one buffer
    private static final int MAX_PROBES = 4096;
    private static final int FULL_NUMERATOR = 5;
    private static final int FULL_DENOMINATOR = 8;
    private static final int TAG = 0;
    private static final int LOCATION = 8;
    private static final int EXTENT = 16;
    private static final int USED = 24;
    private static final long MICROS_PER_SECOND = 1_000_000;
    private static final long CLOCK_TOLERANCE_MICROS = 60 * MICROS_PER_SECOND;
    private static final VarHandle WORDS =
            MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    private final long generation;
    private final ByteBuffer slots;
    private final int mask;
    private final UseRecorder recordedUses; // not yet written

    private EntryIndex(long generation, MappedByteBuffer slots) {
        this.generation = generation;
        this.slots = slots;
        this.mask = slots.capacity() / SLOT_BYTES - 1;
        this.recordedUses = new UseRecorder(count());
    }

    /**
     * Creates an empty table. Its blocks are allocated at once, so that a full disk fails here and
     * not when a slot is written.
     */
    public static EntryIndex create(Path file, long generation, int count) throws IOException {
        return new EntryIndex(
                generation,
                InterruptGuard.inFileThread(
                        () -> IndexMapper.create(file, (long) count * SLOT_BYTES)));
    }

    /**
     * Opens a table. Of a truncated file the remaining power of two of whole slots is used; returns
     * null if no slot remains.
     */
    public static @Nullable EntryIndex open(Path file, long generation, FileChannel.MapMode mode)
            throws IOException {
        StoreLayout.requireFile(file);
        return InterruptGuard.inFileThread(() ->
                        Optional.ofNullable(IndexMapper.open(file, mode, SLOT_BYTES, MAX_SLOTS)))
                .map(slots -> new EntryIndex(generation, slots))
                .orElse(null);
    }

    /**
     * Returns the number of slots of a table for {@code entries} entries: at most a third is
     * occupied.
     */
    public static int slotsFor(long entries) {
        return Math.clamp(
                Long.highestOneBit(Math.max(1, entries * 3 - 1)) << 1, MIN_SLOTS, MAX_SLOTS);
    }

    public long generation() {
        return generation;
    }

    public int count() {
        return mask + 1;
    }

    public boolean isFull(long occupied) {
        return occupied * FULL_DENOMINATOR >= (long) count() * FULL_NUMERATOR;
    }

    public boolean canGrow() {
        return count() < MAX_SLOTS;
    }

    /** Returns the number of slots with an entry. Scans all slots. */
    public long countEntries() {
        long entries = 0;
        for (int slot = 0; slot < count(); slot++) {
            entries += EntryLocation.isLocation(location(slot)) ? 1 : 0;
        }
        return entries;
    }

    /**
     * Returns the unit after the last entry in the segment, or 0 if the segment has none. Scans all
     * slots.
     */
    public long endOf(int segment) {
        long end = 0;
        for (int slot = 0; slot < count(); slot++) {
            long location = location(slot);
            if (location > 0 && location >>> EntryLocation.SEGMENT_SHIFT == segment) {
                end = Math.max(end, EntryLocation.unit(location) + units(slot));
            }
        }
        return end;
    }

    /** Returns the units of all entries in the segment. Scans all slots. */
    public long unitsIn(int segment) {
        long units = 0;
        for (int slot = 0; slot < count(); slot++) {
            long location = location(slot);
            units += location > 0 && location >>> EntryLocation.SEGMENT_SHIFT == segment
                    ? units(slot)
                    : 0;
        }
        return units;
    }

    /** Returns the tag of ids whose digest begins with {@code hashPrefix}. */
    public static long tag(long hashPrefix) {
        return hashPrefix == 0 ? 1 : hashPrefix; // 0 marks a slot that was never occupied
    }

    /**
     * Returns the number of the first probe, from {@code probe} on, that meets an occupied slot
     * with this tag, or -1.
     */
    public int next(long tag, int probe) {
        for (int i = probe; i <= mask && i < MAX_PROBES; i++) {
            int slot = slot(tag, i);
            long found = word(slot, TAG);
            if (found == 0) {
                return -1;
            }
            if (found == tag && location(slot) != 0) {
                return i;
            }
        }
        return -1;
    }

    /** Returns the slot of probe number {@code probe} for this tag. */
    public int slot(long tag, int probe) {
        return (int) (tag + probe) & mask;
    }

    public long tagOf(int slot) {
        return word(slot, TAG);
    }

    /** Returns the location of the entry, or 0 if the slot is empty. */
    public long location(int slot) {
        return word(slot, LOCATION);
    }

    /** Returns the number of units of the entry. */
    public long units(int slot) {
        return word(slot, EXTENT) & 0xffff_ffffL;
    }

    /** Returns the time of storing in seconds since 1970. */
    public long storedSeconds(int slot) {
        return word(slot, EXTENT) >>> Integer.SIZE;
    }

    /** Returns the last use in microseconds since 1970, as far as it was written. */
    public long usedMicros(int slot) {
        return word(slot, USED);
    }

    /**
     * Inserts an entry under the commit lock. Returns 1 if its slot was never occupied before, 0 if
     * it was, and -1 if there is no free slot.
     */
    public int insert(long tag, long location, long units, long storedSeconds, long usedMicros) {
        for (int i = 0; i <= mask && i < MAX_PROBES; i++) {
            int slot = slot(tag, i);
            long before = word(slot, TAG);
            if (before == 0 || location(slot) == 0) {
                set(slot, EXTENT, storedSeconds << Integer.SIZE | units);
                set(slot, USED, usedMicros);
                recordedUses.discard(slot);
                set(slot, TAG, tag);
                set(slot, LOCATION, location);
                return before == 0 ? 1 : 0;
            }
        }
        return -1;
    }

    /** Sets the location of an entry that was copied. Under the commit lock. */
    public void move(int slot, long location) {
        set(slot, LOCATION, location);
    }

    /**
     * Removes an entry under the commit lock. Returns the number of slots that became
     * never-occupied, since no probe needs to pass them.
     */
    public int remove(int slot) {
        set(slot, LOCATION, 0);
        int freed = 0;
        if (word(slot + 1 & mask, TAG) == 0) {
            for (int last = slot;
                    freed <= mask && word(last, TAG) != 0 && location(last) == 0;
                    last = last - 1 & mask) {
                set(last, TAG, 0);
                freed++;
            }
        }
        return freed;
    }

    /** Removes all entries. Under the commit lock. */
    public void removeAll() {
        for (int slot = 0; slot < count(); slot++) {
            set(slot, LOCATION, 0);
        }
        for (int slot = 0; slot < count(); slot++) {
            set(slot, TAG, 0);
        }
    }

    /**
     * Records a use of the entry; {@link #writeUses} writes it. Lock-free; writes no mapped memory.
     */
    public void recordUse(int slot, long micros) {
        recordedUses.record(slot, micros);
    }

    /** Writes the recorded uses. A time from a wrong clock is overwritten by any use. */
    public void writeUses(long nowMicros) {
        recordedUses.drain((slot, micros) -> {
            long known = usedMicros(slot);
            if (known < micros || isFromWrongClock(known, nowMicros)) {
                set(slot, USED, micros);
            }
        });
    }

    /**
     * Returns whether a time of the slot comes from a wrong clock: more than 60 s in the future, or
     * negative.
     */
    public boolean hasWrongTime(int slot, long nowMicros) {
        return location(slot) != 0
                && (isFromWrongClock(usedMicros(slot), nowMicros)
                        || isFromWrongClock(storedSeconds(slot) * MICROS_PER_SECOND, nowMicros));
    }

    /** Sets the wrong times of a slot to {@code micros}. Under the commit lock. */
    public void correctTimes(int slot, long nowMicros, long micros) {
        if (isFromWrongClock(usedMicros(slot), nowMicros)) {
            set(slot, USED, micros);
        }
        if (isFromWrongClock(storedSeconds(slot) * MICROS_PER_SECOND, nowMicros)) {
            set(slot, EXTENT, ((micros / MICROS_PER_SECOND) << Integer.SIZE) | units(slot));
        }
    }

    /** The tolerance covers uses that others recorded after this process read its clock. */
    private static boolean isFromWrongClock(long micros, long nowMicros) {
        return micros < 0 || micros > nowMicros + CLOCK_TOLERANCE_MICROS;
    }

    /** Transfers the recorded uses to {@code successor}. */
    void transferUsesTo(EntryIndex successor) {
        recordedUses.drain((slot, micros) -> {
            int same = successor.find(tagOf(slot), location(slot));
            if (same >= 0) {
                successor.recordUse(same, micros);
            }
        });
    }

    /** Returns the slot with this tag and location, or -1. */
    public int find(long tag, long location) {
        for (int probe = next(tag, 0); probe >= 0; probe = next(tag, probe + 1)) {
            if (location(slot(tag, probe)) == location) {
                return slot(tag, probe);
            }
        }
        return -1;
    }

    private long word(int slot, int at) {
        return (long) WORDS.getAcquire(slots, slot * SLOT_BYTES + at);
    }

    private void set(int slot, int at, long value) {
        WORDS.setRelease(slots, slot * SLOT_BYTES + at, value);
    }
}
