package dev.granary.local.eviction;

import dev.granary.local.file.EntryIndex;
import dev.granary.local.file.EntryLocation;
import dev.granary.local.file.IndexSnapshot;
import dev.granary.local.file.OpenStoreFiles;
import dev.granary.local.file.SegmentFile;
import dev.granary.local.file.StoreStep;
import dev.granary.local.store.IndexCommitter;
import dev.granary.local.store.SegmentAppender;
import dev.granary.local.store.SegmentStore;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** Mover of the entries of a sparse segment to the append position. For the sweeping thread. */
final class EntryMover {
    private static final int BATCH_SIZE = 64;

    private final SegmentStore store;
    private final SegmentAppender appender;

    EntryMover(SegmentStore store, SegmentAppender appender) {
        this.store = store;
        this.appender = appender;
    }

    /**
     * Copies the entries of a segment to the append position; returns whether none is left in it.
     */
    boolean move(OpenStoreFiles files, SealedSegment sealed, IndexSnapshot snapshot, long capacity)
            throws IOException {
        for (int from = sealed.first(); from < sealed.end(); from += BATCH_SIZE) {
            int first = from;
            int end = Math.min(sealed.end(), from + BATCH_SIZE);
            long[] copies = new long[end - first];
            for (int rank = first; rank < end; rank++) {
                copies[rank - first] = copy(files, sealed.segment(), snapshot, rank, capacity);
            }
            if (!store.change(locked -> redirect(locked, snapshot, first, copies))) {
                return false;
            }
            store.steps().done(StoreStep.MOVED);
        }
        return true;
    }

    /**
     * Copies one entry unverified; damage is found at a lookup. Returns the new location, or 0 if
     * it need not be moved or could not be written.
     */
    private long copy(
            OpenStoreFiles files,
            SegmentFile segment,
            IndexSnapshot snapshot,
            int rank,
            long capacity)
            throws IOException {
        long location = snapshot.location(rank);
        long length = snapshot.units(rank) * EntryLocation.UNIT;
        long offset = EntryLocation.offset(location);
        if (length == 0 || offset + length >= segment.length() + EntryLocation.UNIT) {
            return 0; // removed, or dangling
        }
        MemorySegment view = segment.view(offset, Math.min(length, segment.length() - offset));
        return files.index().find(snapshot.tag(rank), location) < 0
                ? 0
                : appender.append(List.of(view), length, capacity).location();
    }

    /**
     * Sets the locations of the copies in the index. Returns false if an entry stays in its old
     * segment, since it has no copy, or its copy is in a segment that was closed since. Under the
     * commit lock.
     */
    private static boolean redirect(
            OpenStoreFiles files, IndexSnapshot snapshot, int first, long[] copies)
            throws IOException {
        EntryIndex index = files.index();
        boolean allMoved = true;
        for (int i = 0; i < copies.length; i++) {
            int slot = index.find(snapshot.tag(first + i), snapshot.location(first + i));
            if (slot >= 0 && copies[i] != 0 && IndexCommitter.isOpen(files, copies[i])) {
                index.move(slot, copies[i]);
            } else if (slot >= 0) {
                allMoved = false;
            }
        }
        return allMoved;
    }
}
