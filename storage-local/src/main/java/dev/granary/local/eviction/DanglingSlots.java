package dev.granary.local.eviction;

import dev.granary.local.file.EntryIndex;
import dev.granary.local.file.EntryLocation;
import dev.granary.local.file.IndexSnapshot;
import dev.granary.local.file.OpenStoreFiles;
import dev.granary.local.store.EntryReader;
import dev.granary.local.store.EntryRemover;
import dev.granary.local.store.SegmentStore;

import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/**
 * Finder of dangling slots: their location is in a missing or too short segment or within another
 * entry, or no probe reaches them. The cause is a damaged tag, or a power cut that left pages of
 * different ages. No lookup would remove them, so a sweep does.
 */
final class DanglingSlots {
    private final SegmentStore store;
    private final EntryReader reader;

    DanglingSlots(SegmentStore store, EntryReader reader) {
        this.store = store;
        this.reader = reader;
    }

    /** Removes dangling slots; returns whether there were any. */
    boolean takeOut(OpenStoreFiles files, IndexSnapshot snapshot) throws IOException {
        BitSet overlapping = overlapping(snapshot);
        List<Integer> ranks = new ArrayList<>(0);
        for (int rank = 0; rank < snapshot.size(); rank++) {
            int slot = snapshot.slot(rank);
            if (isDangling(files, snapshot.index(), slot, snapshot.location(rank))
                    || (overlapping.get(rank)
                            && !reader.matchesSlot(files, snapshot.index(), slot))) {
                ranks.add(rank);
            }
        }
        return !ranks.isEmpty()
                && store.change(locked -> takeOut(locked, snapshot, overlapping, ranks));
    }

    /** Returns the ranks of entries that share bytes with another: at most one of them is sound. */
    private static BitSet overlapping(IndexSnapshot snapshot) {
        BitSet ranks = new BitSet();
        long end = 0;
        int longest = 0;
        for (int rank = 0; rank < snapshot.size(); rank++) {
            long from = snapshot.location(rank);
            if (rank > 0 && from < end) {
                ranks.set(longest);
                ranks.set(rank);
            }
            // a location counts in units, and no sound entry extends into the next segment
            if (from + snapshot.units(rank) > end) {
                end = from + snapshot.units(rank);
                longest = rank;
            }
        }
        return ranks;
    }

    /** Checks the slots again under the commit lock, and removes them. */
    private boolean takeOut(
            OpenStoreFiles files, IndexSnapshot snapshot, BitSet overlapping, List<Integer> ranks)
            throws IOException {
        EntryIndex index = files.index();
        boolean removed = false;
        for (int rank : ranks) {
            int slot = snapshot.slot(rank);
            if (index.generation() == snapshot.index().generation()
                    && index.location(slot) == snapshot.location(rank)
                    && (isDangling(files, index, slot, snapshot.location(rank))
                            || (overlapping.get(rank)
                                    && !reader.matchesSlot(files, index, slot)))) {
                removed |= EntryRemover.removeAt(files, index, slot, snapshot.location(rank));
            }
        }
        return removed;
    }

    private static boolean isDangling(
            OpenStoreFiles files, EntryIndex index, int slot, long location) {
        if (!EntryLocation.isLocation(location)
                || index.find(index.tagOf(slot), location) != slot) {
            return true;
        }
        try {
            long length = files.segments().get(EntryLocation.segment(location)).length();
            // the last entry need not fill its unit
            return EntryLocation.offset(location) + index.units(slot) * EntryLocation.UNIT
                    >= length + EntryLocation.UNIT;
        } catch (NoSuchFileException e) {
            return true;
        } catch (IOException e) {
            return false; // unknown: the file exists, and may be readable later
        }
    }
}
