package dev.granary.local.eviction;

import dev.granary.local.file.EntryIndex;
import dev.granary.local.file.EntryLocation;
import dev.granary.local.file.HolePuncher;
import dev.granary.local.file.IndexSnapshot;
import dev.granary.local.file.OpenStoreFiles;
import dev.granary.local.file.SegmentFile;
import dev.granary.local.file.SegmentHoles;
import dev.granary.local.file.StatePage;
import dev.granary.local.file.StoreStep;
import dev.granary.local.store.CommitLockQueue;
import dev.granary.local.store.EntryReader;
import dev.granary.local.store.FileDisposer;
import dev.granary.local.store.IndexCommitter;
import dev.granary.local.store.SegmentAppender;
import dev.granary.local.store.SegmentStore;
import dev.granary.local.store.StoreRecovery;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Gives back to the disk what no entry covers: removes segments without entries, punches holes between those that are left, and copies
 * the entries of segments of which too little is left to the end of the store.
 *
 * <p>A segment is closed before anything is given back: from then on no entry can be committed to it, so what the index does not cover then
 * nobody will ever need. The entries that are read meanwhile are copies or do not verify.
 */
final class SpaceReclaimer {
    private static final int SPARSE_FRACTION = 4;
    private static final int WASTED_FRACTION = 32;
    private static final int MOVED_AT_ONCE = 64;

    private final SegmentStore store;
    private final SegmentAppender appender;
    private final DanglingSlots rot;
    private final FileDisposer disposer;
    private boolean canPunch = HolePuncher.isPossible(); // only the one thread that sweeps looks at it

    SpaceReclaimer(SegmentStore store, EntryReader shelf) {
        this.store = store;
        this.rot = new DanglingSlots(store, shelf);
        this.disposer = new FileDisposer(store);
        this.appender = new SegmentAppender(store);
    }

    /** A closed segment and what it takes on the disk. */
    private static final class Sealed {
        private final SegmentFile segment;
        private long length;
        private int first;
        private int behind;
        private long liveUnits;
        private long disk;

        Sealed(SegmentFile segment, long length) {
            this.segment = segment;
            this.length = length;
        }

        long live() {
            return liveUnits * EntryLocation.UNIT;
        }

        long wasted() {
            return disk - live();
        }
    }

    /**
     * Gives back what is worth it.
     *
     * @param capacity of the store, in bytes
     * @param tolerated how many bytes may stay that no entry covers; 0 gives back all that can be, at the cost of copying more
     */
    void run(long capacity, long tolerated) throws IOException {
        OpenStoreFiles files = store.files();
        if (files == null) {
            return;
        }
        files.segments().dropGone();
        sealLast(files, tolerated);
        List<Sealed> sealed = closeAll(files);
        IndexSnapshot snapshot = IndexSnapshot.of(files.index()); // after closing: nothing more can come into those segments
        if (rot.takeOut(files, snapshot)) {
            snapshot = IndexSnapshot.of(files.index());
        }
        for (Sealed each : sealed) {
            measure(each, snapshot);
        }
        if (!disposer.confirms(files, snapshot, sealed.stream().map(each -> each.segment).toList())) {
            return; // the index has entries that this plan does not know: the next sweep makes another
        }
        sealed.removeIf(each -> removeIfEmpty(files, each));
        for (Sealed each : sealed) {
            shrink(files, each, snapshot);
        }
        compact(files, sealed, snapshot, capacity, tolerated);
        store.change(locked -> count(locked, sealed));
    }

    /**
     * Ends the last segment if enough of it can be given back, or if an entry lies behind its end. Such an
     * end is stale, after a power cut that was not detected, and new entries would overwrite sound ones.
     */
    private void sealLast(OpenStoreFiles files, long tolerated) throws IOException {
        long tail = files.state().tail();
        int last = EntryLocation.segment(tail);
        long live = files.index().unitsIn(last);
        long dead = (EntryLocation.unit(tail) - 1 - live) * EntryLocation.UNIT;
        if (tail != 0 && (dead > tolerated || hasEntryBehindEnd(files, last))) {
            store.change(locked -> {
                if (EntryLocation.segment(locked.state().tail()) == last && (dead > tolerated || hasEntryBehindEnd(locked, last))) {
                    appender.seal(locked, 0);
                }
                return true;
            });
        }
    }

    /** True where the index has an entry behind the end of the store in that segment; without the lock, it may have come just now. */
    private static boolean hasEntryBehindEnd(OpenStoreFiles files, int segment) throws IOException {
        long end = files.index().endIn(segment);
        long tail = files.state().tail(); // read behind the index: room is taken before an entry is entered
        return EntryLocation.segment(tail) == segment && end > EntryLocation.unit(tail);
    }

    /** Closes every segment but the last; removes what a process left that was killed while it replaced the index. */
    private List<Sealed> closeAll(OpenStoreFiles files) throws IOException {
        List<Sealed> sealed = new ArrayList<>();
        store.change(locked -> {
            int last = EntryLocation.segment(locked.state().tail());
            FileDisposer.removeOtherIndexes(locked);
            List<Integer> numbers = new ArrayList<>();
            locked.layout().eachSegment((_, number) -> numbers.add((int) number));
            for (int number : numbers) {
                Sealed each = number == last ? null : close(locked, number);
                if (each != null) {
                    sealed.add(each);
                }
            }
            return true;
        });
        store.steps().done(StoreStep.CLOSED);
        return sealed;
    }

    private static @Nullable Sealed close(OpenStoreFiles files, int number) throws IOException {
        try {
            SegmentFile segment = files.segments().get(number);
            long length = Files.size(segment.file());
            if (length < segment.length()) { // cut since it was mapped: what is read here must be there
                files.segments().drop(segment);
                segment = files.segments().get(number);
            }
            if (segment.phase() == SegmentFile.Phase.OPEN) {
                segment.setPhase(SegmentFile.Phase.CLOSED);
            }
            return new Sealed(segment, length);
        } catch (NoSuchFileException e) {
            return null; // somebody removed it
        }
    }

    private static void measure(Sealed sealed, IndexSnapshot snapshot) {
        sealed.first = snapshot.firstOf(sealed.segment.number());
        sealed.behind = snapshot.firstOf(sealed.segment.number() + 1);
        sealed.liveUnits = 0;
        for (int rank = sealed.first; rank < sealed.behind; rank++) {
            sealed.liveUnits += snapshot.units(rank);
        }
        sealed.disk = sealed.length;
    }

    private boolean removeIfEmpty(OpenStoreFiles files, Sealed sealed) {
        if (sealed.behind > sealed.first) {
            return false;
        }
        try {
            remove(files, sealed);
            return true;
        } catch (IOException e) {
            return false; // the next sweep tries again
        }
    }

    private void remove(OpenStoreFiles files, Sealed sealed) throws IOException {
        SegmentFile segment = sealed.segment;
        disposer.markGone(files, segment);
        store.steps().done(StoreStep.MARKED_GONE);
        if (canPunch && sealed.length > SegmentHoles.BLOCK) { // frees the disk although others still have it mapped
            try {
                disposer.empty(files, segment, sealed.length);
            } catch (FileDisposer.StaleException e) {
                throw e;
            } catch (IOException | RuntimeException | LinkageError e) {
                canPunch = false; // the disk is free when the last of them lets go
            }
        }
        disposer.remove(files, segment);
        store.steps().done(StoreStep.REMOVED);
        discount(EntryLocation.units(sealed.disk));
        files.segments().drop(segment);
    }

    /** Tells at once what was given back, so that no store takes the directory for full meanwhile; the count at the end is exact. */
    private void discount(long units) throws IOException {
        try {
            store.change(locked -> {
                StatePage state = locked.state();
                state.set(StatePage.SEALED_UNITS, Math.max(0, state.get(StatePage.SEALED_UNITS) - units));
                return true;
            });
        } catch (CommitLockQueue.BusyException e) {
            return; // that count will tell
        }
    }

    /** Cuts off what is behind the last entry and punches holes between the others, where that was not done since the last entry left. */
    private void shrink(OpenStoreFiles files, Sealed sealed, IndexSnapshot snapshot) throws IOException {
        SegmentHoles holes = SegmentHoles.between(snapshot, sealed.first, sealed.behind, sealed.length);
        if (holes.end() < sealed.length) {
            disposer.cut(files, sealed.segment, holes.end());
            sealed.length = holes.end();
        }
        sealed.disk = holes.end();
        if (!canPunch) {
            return;
        }
        long mark = sealed.liveUnits + 1;
        try {
            if (sealed.segment.punched() != mark) {
                disposer.punch(files, sealed.segment, holes);
                sealed.segment.setPunched(mark);
            }
            sealed.disk = holes.blocks();
        } catch (FileDisposer.StaleException e) {
            throw e;
        } catch (IOException | RuntimeException | LinkageError e) {
            canPunch = false; // this file system or system has none: copying does it
        }
    }

    /** Copies entries out of segments until little enough is wasted: first where only a small part is left, then where most is wasted. */
    private void compact(OpenStoreFiles files, List<Sealed> sealed, IndexSnapshot snapshot, long capacity, long tolerated)
            throws IOException {
        long disk = EntryLocation.unit(files.state().tail()) * EntryLocation.UNIT;
        for (Sealed each : sealed) {
            disk += each.disk;
        }
        List<Sealed> worstFirst = new ArrayList<>(sealed);
        worstFirst.sort(Comparator.comparingDouble(each -> -(double) each.wasted() / Math.max(1, each.disk)));
        long wanted = tolerated == 0 ? 0 : capacity - tolerated;
        for (Sealed each : worstFirst) {
            boolean isSparse = each.live() < each.length / SPARSE_FRACTION;
            boolean isWasteful = disk > wanted && each.wasted() > each.disk / WASTED_FRACTION;
            if ((isSparse || isWasteful) && move(files, each, snapshot, capacity) && disposer.confirmsEmpty(files, each.segment)) {
                disk -= each.wasted();
                remove(files, each);
                sealed.remove(each);
            }
        }
    }

    /** Copies the entries of a segment to the end of the store; returns whether none is left in it. */
    private boolean move(OpenStoreFiles files, Sealed sealed, IndexSnapshot snapshot, long capacity) throws IOException {
        for (int from = sealed.first; from < sealed.behind; from += MOVED_AT_ONCE) {
            int first = from;
            int behind = Math.min(sealed.behind, from + MOVED_AT_ONCE);
            long[] copies = new long[behind - first];
            for (int rank = first; rank < behind; rank++) {
                copies[rank - first] = copy(files, sealed, snapshot, rank, capacity);
            }
            if (!store.change(locked -> lead(locked, snapshot, first, copies))) {
                return false;
            }
            store.steps().done(StoreStep.MOVED);
        }
        return true;
    }

    /** Copies one entry as it is; a damaged one is found when it is looked up. Returns where to; 0 where it need not be moved. */
    private long copy(OpenStoreFiles files, Sealed sealed, IndexSnapshot snapshot, int rank, long capacity) throws IOException {
        long location = snapshot.location(rank);
        long length = snapshot.units(rank) * EntryLocation.UNIT;
        long offset = EntryLocation.offset(location);
        if (length == 0 || offset + length >= sealed.segment.length() + EntryLocation.UNIT) {
            return 0; // it went, or leads nowhere
        }
        MemorySegment view = sealed.segment.view(offset, Math.min(length, sealed.segment.length() - offset));
        return files.index().find(snapshot.tag(rank), location) < 0
                ? 0
                : appender.append(List.of(view), length, capacity).location();
    }

    /** Has the index lead to the copies; false where one of them lies in a segment that was closed meanwhile. Under the commit lock. */
    private static boolean lead(OpenStoreFiles files, IndexSnapshot snapshot, int first, long[] copies) throws IOException {
        EntryIndex index = files.index();
        boolean all = true;
        for (int i = 0; i < copies.length; i++) {
            int slot = index.find(snapshot.tag(first + i), snapshot.location(first + i));
            if (slot >= 0 && copies[i] != 0 && IndexCommitter.isOpen(files, copies[i])) {
                index.move(slot, copies[i]);
            } else if (slot >= 0) {
                all = false;
            }
        }
        return all;
    }

    private static boolean count(OpenStoreFiles files, List<Sealed> sealed) throws IOException {
        long units = 0;
        int last = EntryLocation.segment(files.state().tail());
        for (Sealed each : sealed) {
            units += EntryLocation.units(each.disk);
        }
        List<Integer> counted = sealed.stream().map(each -> each.segment.number()).toList();
        long[] others = {0};
        files.layout().eachSegment((file, number) -> {
            if (number != last && !counted.contains((int) number)) {
                others[0] += EntryLocation.units(Files.size(file)); // sealed since this sweep began
            }
        });
        files.state().set(StatePage.SEALED_UNITS, units + others[0]);
        StoreRecovery.recountEntries(files); // a count that rotted shows nowhere else
        return true;
    }
}
