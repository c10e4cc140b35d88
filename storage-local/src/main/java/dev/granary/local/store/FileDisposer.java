package dev.granary.local.store;

import dev.granary.local.file.EntryIndex;
import dev.granary.local.file.EntryLocation;
import dev.granary.local.file.IndexSnapshot;
import dev.granary.local.file.OpenStoreFiles;
import dev.granary.local.file.SegmentFile;
import dev.granary.local.file.SegmentHoles;
import dev.granary.local.file.StatePage;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.util.BitSet;
import java.util.List;

/**
 * The only class that removes, truncates or empties files of the store. It first checks the
 * directory's current state page, under the commit lock: a plan for another state page or index is
 * void. {@code docs/deletions.md} lists each act.
 *
 * <p>A confirmed plan stays valid without the lock: a closed segment takes no entries, and its
 * number is not reused.
 */
public final class FileDisposer {
    private final SegmentStore store;

    /** Thrown if the directory has another store than the one of the plan. */
    public static final class StaleException extends IOException {
        private static final long serialVersionUID = 1;

        StaleException() {
            super("the store was replaced while its space was reclaimed");
        }
    }

    public FileDisposer(SegmentStore store) {
        this.store = store;
    }

    /**
     * Returns whether these segments are closed and {@code snapshot} has every entry that the index
     * has in them.
     */
    public boolean confirms(OpenStoreFiles basis, IndexSnapshot snapshot, List<SegmentFile> closed)
            throws IOException {
        return store.change(locked -> isBasis(locked, basis)
                && areClosed(locked, closed)
                && covers(locked.index(), snapshot, closed));
    }

    /** Returns whether the segment is closed and the index has no entry in it. */
    public boolean confirmsEmpty(OpenStoreFiles basis, SegmentFile segment) throws IOException {
        return store.change(locked -> isBasis(locked, basis)
                && areClosed(locked, List.of(segment))
                && locked.index().endOf(segment.number()) == 0);
    }

    /** Marks a segment that was confirmed to be empty as gone, so that other processes close it. */
    public void markGone(OpenStoreFiles basis, SegmentFile segment) throws IOException {
        requireBasis(basis);
        segment.setPhase(SegmentFile.Phase.GONE);
    }

    /** Removes the file of a segment that is marked as gone. */
    public void remove(OpenStoreFiles basis, SegmentFile segment) throws IOException {
        requireBasis(basis);
        Files.deleteIfExists(segment.file());
    }

    /** Reclaims all but the header of a segment that is marked as gone. */
    public void empty(OpenStoreFiles basis, SegmentFile segment, long length) throws IOException {
        requireBasis(basis);
        SegmentHoles.punchAll(segment, length);
    }

    /** Punches the holes of a confirmed plan into a closed segment. */
    public void punch(OpenStoreFiles basis, SegmentFile segment, SegmentHoles holes)
            throws IOException {
        requireBasis(basis);
        holes.punch(segment, store.steps());
    }

    /** Truncates a segment after the last entry of a confirmed plan. */
    public void truncate(OpenStoreFiles basis, SegmentFile segment, long length)
            throws IOException {
        requireBasis(basis);
        segment.truncate(length);
    }

    /**
     * Truncates the former last segment at its end, unless the index has an entry beyond it: then
     * the end was wrong. Under the commit lock.
     */
    static void truncateLast(OpenStoreFiles locked, SegmentFile segment, long end)
            throws IOException {
        if (locked.index().endOf(segment.number()) * EntryLocation.UNIT
                < end + EntryLocation.UNIT) {
            segment.truncate(end);
        }
    }

    /**
     * Removes the indexes of all other generations if the current one exists. Under the commit
     * lock.
     */
    public static void removeOtherIndexes(OpenStoreFiles locked) throws IOException {
        long present = locked.state().get(StatePage.GENERATION);
        if (!Files.isRegularFile(locked.layout().index(present), LinkOption.NOFOLLOW_LINKS)) {
            return; // the remaining index may be the only one
        }
        locked.layout().forEachIndex((file, generation) -> {
            if (generation != present) {
                Files.deleteIfExists(file);
            }
        });
    }

    private void requireBasis(OpenStoreFiles basis) throws IOException {
        OpenStoreFiles now = store.files();
        if (now == null || !isBasis(now, basis)) {
            throw new StaleException();
        }
    }

    private static boolean isBasis(OpenStoreFiles now, OpenStoreFiles basis) throws IOException {
        return now == basis && now.state().isBackedBy(now.layout().state());
    }

    private static boolean areClosed(OpenStoreFiles locked, List<SegmentFile> segments) {
        int last = EntryLocation.segment(locked.state().appendPosition());
        return segments.stream()
                .allMatch(each -> each.number() != last && each.phase() != SegmentFile.Phase.OPEN);
    }

    private static boolean covers(
            EntryIndex index, IndexSnapshot snapshot, List<SegmentFile> closed) {
        BitSet numbers = new BitSet();
        closed.forEach(each -> numbers.set(each.number()));
        for (int slot = 0; slot < index.count(); slot++) {
            long location = index.location(slot);
            // a damaged location is in no segment
            if (EntryLocation.isLocation(location)
                    && numbers.get(EntryLocation.segment(location))
                    && !snapshot.has(location, index.units(slot))) {
                return false;
            }
        }
        return true;
    }
}
