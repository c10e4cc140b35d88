package dev.granary.local;

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
final class Reclaim {
    private static final int SPARSE_FRACTION = 4;
    private static final int WASTED_FRACTION = 32;
    private static final int MOVED_AT_ONCE = 64;

    private final SegmentStore store;
    private final Appender appender;
    private final Rot rot;
    private final Disposer disposer;
    private boolean canPunch = HolePunch.isPossible(); // only the one thread that sweeps looks at it

    Reclaim(SegmentStore store, Shelf shelf) {
        this.store = store;
        this.rot = new Rot(store, shelf);
        this.disposer = new Disposer(store);
        this.appender = new Appender(store);
    }

    /** A closed segment and what it takes on the disk. */
    private static final class Sealed {
        private final Segment segment;
        private long length;
        private int first;
        private int behind;
        private long liveUnits;
        private long disk;

        Sealed(Segment segment, long length) {
            this.segment = segment;
            this.length = length;
        }

        long live() {
            return liveUnits * Tail.UNIT;
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
        StoreFiles files = store.files();
        if (files == null) {
            return;
        }
        files.segments().dropGone();
        sealLast(files, tolerated);
        List<Sealed> sealed = closeAll(files);
        Snapshot snapshot = Snapshot.of(files.index()); // after closing: nothing more can come into those segments
        if (rot.takeOut(files, snapshot)) {
            snapshot = Snapshot.of(files.index());
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
    private void sealLast(StoreFiles files, long tolerated) throws IOException {
        long tail = files.state().tail();
        int last = Tail.segment(tail);
        long live = files.index().unitsIn(last);
        long dead = (Tail.unit(tail) - 1 - live) * Tail.UNIT;
        if (tail != 0 && (dead > tolerated || hasEntryBehindEnd(files, last))) {
            store.change(locked -> {
                if (Tail.segment(locked.state().tail()) == last && (dead > tolerated || hasEntryBehindEnd(locked, last))) {
                    appender.seal(locked, 0);
                }
                return true;
            });
        }
    }

    /** True where the index has an entry behind the end of the store in that segment; without the lock, it may have come just now. */
    private static boolean hasEntryBehindEnd(StoreFiles files, int segment) throws IOException {
        long end = files.index().endIn(segment);
        long tail = files.state().tail(); // read behind the index: room is taken before an entry is entered
        return Tail.segment(tail) == segment && end > Tail.unit(tail);
    }

    /** Closes every segment but the last; removes what a process left that was killed while it replaced the index. */
    private List<Sealed> closeAll(StoreFiles files) throws IOException {
        List<Sealed> sealed = new ArrayList<>();
        store.change(locked -> {
            int last = Tail.segment(locked.state().tail());
            Disposer.removeOtherIndexes(locked);
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
        store.steps().done(Step.CLOSED);
        return sealed;
    }

    private static @Nullable Sealed close(StoreFiles files, int number) throws IOException {
        try {
            Segment segment = files.segments().get(number);
            long length = Files.size(segment.file());
            if (length < segment.length()) { // cut since it was mapped: what is read here must be there
                files.segments().drop(segment);
                segment = files.segments().get(number);
            }
            if (segment.phase() == Segment.Phase.OPEN) {
                segment.setPhase(Segment.Phase.CLOSED);
            }
            return new Sealed(segment, length);
        } catch (NoSuchFileException e) {
            return null; // somebody removed it
        }
    }

    private static void measure(Sealed sealed, Snapshot snapshot) {
        sealed.first = snapshot.firstOf(sealed.segment.number());
        sealed.behind = snapshot.firstOf(sealed.segment.number() + 1);
        sealed.liveUnits = 0;
        for (int rank = sealed.first; rank < sealed.behind; rank++) {
            sealed.liveUnits += snapshot.units(rank);
        }
        sealed.disk = sealed.length;
    }

    private boolean removeIfEmpty(StoreFiles files, Sealed sealed) {
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

    private void remove(StoreFiles files, Sealed sealed) throws IOException {
        Segment segment = sealed.segment;
        disposer.markGone(files, segment);
        store.steps().done(Step.MARKED_GONE);
        if (canPunch && sealed.length > Holes.BLOCK) { // frees the disk although others still have it mapped
            try {
                disposer.empty(files, segment, sealed.length);
            } catch (Disposer.StaleException e) {
                throw e;
            } catch (IOException | RuntimeException | LinkageError e) {
                canPunch = false; // the disk is free when the last of them lets go
            }
        }
        disposer.remove(files, segment);
        store.steps().done(Step.REMOVED);
        discount(Tail.units(sealed.disk));
        files.segments().drop(segment);
    }

    /** Tells at once what was given back, so that no store takes the directory for full meanwhile; the count at the end is exact. */
    private void discount(long units) throws IOException {
        try {
            store.change(locked -> {
                State state = locked.state();
                state.set(State.SEALED_UNITS, Math.max(0, state.get(State.SEALED_UNITS) - units));
                return true;
            });
        } catch (CommitQueue.BusyException e) {
            return; // that count will tell
        }
    }

    /** Cuts off what is behind the last entry and punches holes between the others, where that was not done since the last entry left. */
    private void shrink(StoreFiles files, Sealed sealed, Snapshot snapshot) throws IOException {
        Holes holes = Holes.between(snapshot, sealed.first, sealed.behind, sealed.length);
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
        } catch (Disposer.StaleException e) {
            throw e;
        } catch (IOException | RuntimeException | LinkageError e) {
            canPunch = false; // this file system or system has none: copying does it
        }
    }

    /** Copies entries out of segments until little enough is wasted: first where only a small part is left, then where most is wasted. */
    private void compact(StoreFiles files, List<Sealed> sealed, Snapshot snapshot, long capacity, long tolerated)
            throws IOException {
        long disk = Tail.unit(files.state().tail()) * Tail.UNIT;
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
    private boolean move(StoreFiles files, Sealed sealed, Snapshot snapshot, long capacity) throws IOException {
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
            store.steps().done(Step.MOVED);
        }
        return true;
    }

    /** Copies one entry as it is; a damaged one is found when it is looked up. Returns where to; 0 where it need not be moved. */
    private long copy(StoreFiles files, Sealed sealed, Snapshot snapshot, int rank, long capacity) throws IOException {
        long location = snapshot.location(rank);
        long length = snapshot.units(rank) * Tail.UNIT;
        long offset = Tail.offset(location);
        if (length == 0 || offset + length >= sealed.segment.length() + Tail.UNIT) {
            return 0; // it went, or leads nowhere
        }
        MemorySegment view = sealed.segment.view(offset, Math.min(length, sealed.segment.length() - offset));
        return files.index().find(snapshot.tag(rank), location) < 0
                ? 0
                : appender.append(List.of(view), length, capacity).location();
    }

    /** Has the index lead to the copies; false where one of them lies in a segment that was closed meanwhile. Under the commit lock. */
    private static boolean lead(StoreFiles files, Snapshot snapshot, int first, long[] copies) throws IOException {
        Index index = files.index();
        boolean all = true;
        for (int i = 0; i < copies.length; i++) {
            int slot = index.find(snapshot.tag(first + i), snapshot.location(first + i));
            if (slot >= 0 && copies[i] != 0 && Commit.isOpen(files, copies[i])) {
                index.move(slot, copies[i]);
            } else if (slot >= 0) {
                all = false;
            }
        }
        return all;
    }

    private static boolean count(StoreFiles files, List<Sealed> sealed) throws IOException {
        long units = 0;
        int last = Tail.segment(files.state().tail());
        for (Sealed each : sealed) {
            units += Tail.units(each.disk);
        }
        List<Integer> counted = sealed.stream().map(each -> each.segment.number()).toList();
        long[] others = {0};
        files.layout().eachSegment((file, number) -> {
            if (number != last && !counted.contains((int) number)) {
                others[0] += Tail.units(Files.size(file)); // sealed since this sweep began
            }
        });
        files.state().set(State.SEALED_UNITS, units + others[0]);
        Recovery.recountEntries(files); // a count that rotted shows nowhere else
        return true;
    }
}
