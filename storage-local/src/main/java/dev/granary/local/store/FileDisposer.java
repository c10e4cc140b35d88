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
 * The one place that removes, cuts or empties files of the store. It asks the state that the directory has now, under the commit lock, before
 * anything goes: a plan that another state, or another index, was the basis of is worth nothing. {@code docs/deletions.md} lists each act.
 *
 * <p>A confirmed plan stays right without the lock: a closed segment takes no entry any more, and its number is not given to another one.
 */
public final class FileDisposer {
    private final SegmentStore store;

    /** The directory has another store than the one that was to be cleared. */
    public static final class StaleException extends IOException {
        private static final long serialVersionUID = 1;

        StaleException() {
            super("the store was replaced while room was given back");
        }
    }

    public FileDisposer(SegmentStore store) {
        this.store = store;
    }

    /** True where every entry that the index has in one of these segments is in {@code snapshot} too, and they are closed. */
    public boolean confirms(OpenStoreFiles basis, IndexSnapshot snapshot, List<SegmentFile> closed) throws IOException {
        return store.change(locked -> isBasis(locked, basis) && areClosed(locked, closed) && covers(locked.index(), snapshot, closed));
    }

    /** True where the index has no entry in that segment any more, and it is closed. */
    public boolean confirmsEmpty(OpenStoreFiles basis, SegmentFile segment) throws IOException {
        return store.change(locked -> isBasis(locked, basis) && areClosed(locked, List.of(segment))
                && locked.index().endIn(segment.number()) == 0);
    }

    /** Marks a segment as gone that was confirmed to be empty, so that others let it go. */
    public void markGone(OpenStoreFiles basis, SegmentFile segment) throws IOException {
        requireBasis(basis);
        segment.setPhase(SegmentFile.Phase.GONE);
    }

    /** Removes the file of a segment that is marked as gone. */
    public void remove(OpenStoreFiles basis, SegmentFile segment) throws IOException {
        requireBasis(basis);
        Files.deleteIfExists(segment.file());
    }

    /** Gives all but the header of a segment that is marked as gone back to the disk. */
    public void empty(OpenStoreFiles basis, SegmentFile segment, long length) throws IOException {
        requireBasis(basis);
        SegmentHoles.punchAll(segment, length);
    }

    /** Punches the holes of a confirmed plan into a closed segment. */
    public void punch(OpenStoreFiles basis, SegmentFile segment, SegmentHoles holes) throws IOException {
        requireBasis(basis);
        holes.punch(segment, store.steps());
    }

    /** Cuts off what lies behind the last entry of a confirmed plan. */
    public void cut(OpenStoreFiles basis, SegmentFile segment, long length) throws IOException {
        requireBasis(basis);
        segment.cut(length);
    }

    /** Cuts the segment that was the last one to its end, unless the index has an entry behind that: then the end was a wrong one. Under the lock. */
    static void cutLast(OpenStoreFiles locked, SegmentFile segment, long end) throws IOException {
        if (locked.index().endIn(segment.number()) * EntryLocation.UNIT < end + EntryLocation.UNIT) {
            segment.cut(end);
        }
    }

    /** Removes the indexes of all generations but the present, if that one is there. Under the commit lock. */
    public static void removeOtherIndexes(OpenStoreFiles locked) throws IOException {
        long present = locked.state().get(StatePage.GENERATION);
        if (!Files.isRegularFile(locked.layout().index(present), LinkOption.NOFOLLOW_LINKS)) {
            return; // what is left may be all there is
        }
        locked.layout().eachIndex((file, generation) -> {
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
        return now == basis && now.state().isStill(now.layout().state());
    }

    private static boolean areClosed(OpenStoreFiles locked, List<SegmentFile> segments) {
        int last = EntryLocation.segment(locked.state().tail());
        return segments.stream().allMatch(each -> each.number() != last && each.phase() != SegmentFile.Phase.OPEN);
    }

    private static boolean covers(EntryIndex index, IndexSnapshot snapshot, List<SegmentFile> closed) {
        BitSet numbers = new BitSet();
        closed.forEach(each -> numbers.set(each.number()));
        for (int slot = 0; slot < index.count(); slot++) {
            long location = index.location(slot);
            if (location > 0 && numbers.get(EntryLocation.segment(location)) && !snapshot.has(location, index.units(slot))) {
                return false;
            }
        }
        return true;
    }
}
