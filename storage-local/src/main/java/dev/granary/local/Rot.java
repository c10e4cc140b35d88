package dev.granary.local;

import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.List;

/**
 * Entries of the index that lead nowhere: to a segment that is gone or too short, or from a slot that no probe reaches any more because a mark
 * rotted or a power cut left pages of different ages. No look-up would ever take them out, so a sweep does.
 */
final class Rot {
    private Rot() {}

    /** Takes such entries out; returns whether there were any. */
    static boolean takeOut(SegmentStore store, StoreFiles files, Snapshot snapshot) throws IOException {
        List<Integer> found = new ArrayList<>(0);
        for (int rank = 0; rank < snapshot.size(); rank++) {
            if (leadsNowhere(files, snapshot.index(), snapshot.slot(rank), snapshot.location(rank))) {
                found.add(rank);
            }
        }
        return !found.isEmpty() && store.change(locked -> takeOut(locked, snapshot, found));
    }

    /** Looks again, now that nothing changes meanwhile. */
    private static boolean takeOut(StoreFiles files, Snapshot snapshot, List<Integer> found) throws IOException {
        Index index = files.index();
        boolean removed = false;
        for (int rank : found) {
            if (index.generation() == snapshot.index().generation()
                    && leadsNowhere(files, index, snapshot.slot(rank), snapshot.location(rank))) {
                removed |= Commit.removeAt(files, index, snapshot.slot(rank), snapshot.location(rank));
            }
        }
        return removed;
    }

    private static boolean leadsNowhere(StoreFiles files, Index index, int slot, long location) throws IOException {
        if (!Tail.isLocation(location) || index.find(index.tagOf(slot), location) != slot) {
            return true;
        }
        try {
            long length = files.segments().get(Tail.segment(location)).length();
            return Tail.offset(location) + index.units(slot) * Tail.UNIT >= length + Tail.UNIT; // the last entry does not fill its unit
        } catch (NoSuchFileException e) {
            return true;
        }
    }
}
