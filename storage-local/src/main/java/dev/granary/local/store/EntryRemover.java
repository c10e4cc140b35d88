package dev.granary.local.store;

import dev.granary.cache.LoadResult;
import dev.granary.local.file.EntryIndex;
import dev.granary.local.file.EntryLocation;
import dev.granary.local.file.OpenStoreFiles;
import dev.granary.local.file.StatePage;

import java.io.IOException;
import java.util.Objects;

/**
 * Remover of entries from the index: one entry, or all. The space of removed entries is reclaimed
 * later. Thread-safe; the static methods are for the holder of the commit lock.
 */
public final class EntryRemover {
    private final SegmentStore store;
    private final SegmentAppender appender;

    public EntryRemover(SegmentStore store) {
        this.store = store;
        this.appender = new SegmentAppender(store);
    }

    /**
     * Removes an entry if it is still at its location; returns whether it was removed. After damage
     * in the last segment the store continues in a new one. The append position may be stale, after
     * a power cut that was not detected, so that new entries were overwriting others.
     */
    public boolean remove(EntryReader.LocatedEntry located) throws IOException {
        return canBeRemoved(located) && store.change(removal(located));
    }

    /** Removes an entry for a lookup, with a short wait; the next lookup finds the damage again. */
    boolean removeBriefly(EntryReader.LocatedEntry located) throws IOException {
        return canBeRemoved(located) && store.changeBriefly(removal(located));
    }

    private static boolean canBeRemoved(EntryReader.LocatedEntry located) {
        return located.index() != null && !(located.result() instanceof LoadResult.Absent);
    }

    private SegmentStore.Change removal(EntryReader.LocatedEntry located) {
        long tag = Objects.requireNonNull(located.index()).tagOf(located.slot());
        return files -> {
            boolean removed = removeAt(files, tag, located.location());
            if (removed
                    && located.result() instanceof LoadResult.Damaged
                    && EntryLocation.segment(located.location())
                            == EntryLocation.segment(files.state().appendPosition())) {
                appender.sealUntruncated(files, 0);
            }
            return removed;
        };
    }

    /**
     * Removes all entries, and continues in a new segment. Allocates no disk blocks, so it works on
     * a full disk too.
     */
    public boolean clear() throws IOException {
        return store.files() != null
                && store.change(files -> {
                    files.index().removeAll();
                    StatePage state = files.state();
                    state.set(StatePage.OCCUPIED_SLOTS, 0);
                    state.set(StatePage.LIVE_ENTRIES, 0);
                    state.set(StatePage.LIVE_UNITS, 0);
                    appender.seal(files, 0);
                    return true;
                });
    }

    /** Removes the entry with this tag at this location; returns whether there was one. */
    static boolean removeAt(OpenStoreFiles files, long tag, long location) throws IOException {
        EntryIndex index = files.index();
        int slot = index.find(tag, location);
        if (slot >= 0) {
            removeSlot(files.state(), index, slot);
        }
        return slot >= 0;
    }

    /**
     * Removes the entry that was in this slot of {@code oldIndex}; returns whether it was still
     * there. Works as well if a damaged tag or a power cut made the slot unreachable for probes.
     */
    public static boolean removeAt(
            OpenStoreFiles files, EntryIndex oldIndex, int slot, long location) throws IOException {
        EntryIndex index = files.index();
        if (index.generation() != oldIndex.generation()) {
            return removeAt(files, oldIndex.tagOf(slot), location);
        }
        boolean isThere = index.location(slot) == location;
        if (isThere) {
            removeSlot(files.state(), index, slot);
        }
        return isThere;
    }

    /** Removes the entry of a slot, and counts it. */
    static void removeSlot(StatePage state, EntryIndex index, int slot) {
        long units = index.units(slot);
        int freed = index.remove(slot);
        state.add(StatePage.OCCUPIED_SLOTS, -freed);
        state.add(StatePage.LIVE_ENTRIES, -1);
        state.add(StatePage.LIVE_UNITS, -units);
    }
}
