package dev.granary.local.eviction;

import dev.granary.local.file.EntryLocation;
import dev.granary.local.file.HolePuncher;
import dev.granary.local.file.IndexSnapshot;
import dev.granary.local.file.OpenStoreFiles;
import dev.granary.local.file.SegmentFile;
import dev.granary.local.file.SegmentHoles;
import dev.granary.local.file.StatePage;
import dev.granary.local.file.StoreLayout;
import dev.granary.local.file.StoreStep;
import dev.granary.local.store.CommitLockQueue;
import dev.granary.local.store.EntryReader;
import dev.granary.local.store.FileDisposer;
import dev.granary.local.store.SegmentAppender;
import dev.granary.local.store.SegmentStore;
import dev.granary.local.store.StoreRecovery;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Reclaimer of space that no entry covers. Removes segments without entries, punches holes between
 * entries, and copies the entries of sparse segments to the append position.
 *
 * <p>A segment is closed before any of its space is reclaimed. No entry can be committed to it from
 * then on, so bytes without an entry in the index stay unused. Concurrent reads yield copies that
 * fail the verification.
 */
final class SpaceReclaimer {
    private static final int SPARSE_FRACTION = 4;
    private static final int WASTED_FRACTION = 32;

    private final SegmentStore store;
    private final SegmentAppender appender;
    private final EntryMover mover;
    private final DanglingSlots danglingSlots;
    private final FileDisposer disposer;
    // used by the sweeping thread only
    private boolean canPunch = HolePuncher.isPossible();
    private @Nullable IOException obstacle;

    SpaceReclaimer(SegmentStore store, EntryReader reader) {
        this.store = store;
        this.danglingSlots = new DanglingSlots(store, reader);
        this.disposer = new FileDisposer(store);
        this.appender = new SegmentAppender(store);
        this.mover = new EntryMover(store, appender);
    }

    /**
     * Reclaims space where it pays.
     *
     * @param capacity the capacity of the store in bytes
     * @param tolerated number of uncovered bytes that may stay; 0 reclaims all that is possible, at
     *     the cost of more copying
     * @return the failure of the first segment that could not be opened or changed, and was
     *     skipped; null if there was none, or if the index changed meanwhile
     */
    @Nullable
    IOException run(long capacity, long tolerated) throws IOException {
        OpenStoreFiles files = store.files();
        if (files == null) {
            return null;
        }
        obstacle = null;
        // a hidden directory hides all segments, and is no fault of each
        StoreLayout.requireDirectoryOrNothing(files.layout().segments());
        files.segments().dropGone();
        sealLast(files, tolerated);
        List<SealedSegment> sealed = closeAll(files);
        // after closing: these segments get no more entries
        IndexSnapshot snapshot = IndexSnapshot.of(files.index());
        if (danglingSlots.takeOut(files, snapshot)) {
            snapshot = IndexSnapshot.of(files.index());
        }
        for (SealedSegment each : sealed) {
            each.measure(snapshot);
        }
        if (!disposer.confirms(
                files, snapshot, sealed.stream().map(SealedSegment::segment).toList())) {
            // the index has entries that this plan lacks: the next sweep makes a new plan
            return null;
        }
        sealed.removeIf(each -> removeIfEmpty(files, each));
        shrinkAll(files, sealed, snapshot);
        compact(files, sealed, snapshot, capacity, tolerated);
        store.change(locked -> count(locked, sealed));
        return obstacle;
    }

    /** A step that opens or changes one segment. */
    private interface SegmentStep {
        void run() throws IOException;
    }

    /**
     * Runs a step; returns false if its segment could not be opened or changed. The sweep skips
     * that segment: it must not keep the space of all others.
     */
    private boolean succeeds(SegmentStep step) throws IOException {
        try {
            step.run();
            return true;
        } catch (FileDisposer.StaleException | CommitLockQueue.BusyException e) {
            throw e; // concerns all segments
        } catch (NoSuchFileException e) {
            return false; // removed by another process
        } catch (IOException e) {
            obstacle = obstacle == null ? e : obstacle;
            return false;
        }
    }

    /**
     * Seals the last segment if enough of it can be reclaimed, or if an entry lies beyond the
     * append position. Such a position is stale, after a power cut that was not detected, and new
     * entries would overwrite sound ones.
     */
    private void sealLast(OpenStoreFiles files, long tolerated) throws IOException {
        long appendPosition = files.state().appendPosition();
        int last = EntryLocation.segment(appendPosition);
        long live = files.index().unitsIn(last);
        long dead = (EntryLocation.unit(appendPosition) - 1 - live) * EntryLocation.UNIT;
        if (appendPosition != 0 && (dead > tolerated || hasEntryBeyondEnd(files, last))) {
            store.change(locked -> {
                if (EntryLocation.segment(locked.state().appendPosition()) == last
                        && (dead > tolerated || hasEntryBeyondEnd(locked, last))) {
                    appender.seal(locked, 0);
                }
                return true;
            });
        }
    }

    /**
     * Returns whether the index has an entry beyond the append position in this segment. Without
     * the lock, the entry may be new.
     */
    private static boolean hasEntryBeyondEnd(OpenStoreFiles files, int segment) throws IOException {
        long end = files.index().endOf(segment);
        // read after the index: space is reserved before an entry is committed
        long appendPosition = files.state().appendPosition();
        return EntryLocation.segment(appendPosition) == segment
                && end > EntryLocation.unit(appendPosition);
    }

    /**
     * Closes every segment but the last, and removes the files of a process that was killed while
     * it replaced the index.
     */
    private List<SealedSegment> closeAll(OpenStoreFiles files) throws IOException {
        List<SealedSegment> sealed = new ArrayList<>();
        store.change(locked -> {
            int last = EntryLocation.segment(locked.state().appendPosition());
            FileDisposer.removeOtherIndexes(locked);
            List<Integer> numbers = new ArrayList<>();
            locked.layout().forEachSegment((_, number) -> numbers.add((int) number));
            for (int number : numbers) {
                if (number != last) {
                    boolean _ = succeeds(() -> sealed.add(close(locked, number)));
                }
            }
            return true;
        });
        store.steps().done(StoreStep.CLOSED);
        return sealed;
    }

    private static SealedSegment close(OpenStoreFiles files, int number) throws IOException {
        SegmentFile segment = files.segments().get(number);
        long length = Files.size(segment.file());
        // truncated since it was mapped: a mapping must match the file here
        if (length < segment.length()) {
            files.segments().drop(segment);
            segment = files.segments().get(number);
        }
        if (segment.phase() == SegmentFile.Phase.OPEN) {
            segment.setPhase(SegmentFile.Phase.CLOSED);
        }
        return new SealedSegment(segment, length);
    }

    private boolean removeIfEmpty(OpenStoreFiles files, SealedSegment sealed) {
        if (!sealed.isEmpty()) {
            return false;
        }
        try {
            remove(files, sealed);
            return true;
        } catch (IOException e) {
            return false; // the next sweep tries again
        }
    }

    private void remove(OpenStoreFiles files, SealedSegment sealed) throws IOException {
        SegmentFile segment = sealed.segment();
        disposer.markGone(files, segment);
        store.steps().done(StoreStep.MARKED_GONE);
        // frees the blocks although other processes have it mapped
        if (canPunch && sealed.length() > SegmentHoles.BLOCK) {
            try {
                disposer.empty(files, segment, sealed.length());
            } catch (FileDisposer.StaleException e) {
                throw e;
            } catch (IOException | RuntimeException | LinkageError e) {
                canPunch = false; // the blocks are freed when the last mapping ends
            }
        }
        disposer.remove(files, segment);
        store.steps().done(StoreStep.REMOVED);
        deduct(EntryLocation.units(sealed.diskBytes()));
        files.segments().drop(segment);
    }

    /**
     * Deducts reclaimed units at once, so that no store finds the directory full meanwhile; the
     * count at the end is exact.
     */
    private void deduct(long units) throws IOException {
        try {
            store.change(locked -> {
                StatePage state = locked.state();
                state.set(
                        StatePage.SEALED_UNITS,
                        Math.max(0, state.get(StatePage.SEALED_UNITS) - units));
                return true;
            });
        } catch (CommitLockQueue.BusyException e) {
            return; // left to the count at the end
        }
    }

    /** Shrinks all segments; those that cannot be changed leave the list. */
    private void shrinkAll(OpenStoreFiles files, List<SealedSegment> sealed, IndexSnapshot snapshot)
            throws IOException {
        for (SealedSegment each : List.copyOf(sealed)) {
            if (!succeeds(() -> shrink(files, each, snapshot))) {
                sealed.remove(each);
            }
        }
    }

    /**
     * Truncates a segment after its last entry, and punches holes between the others unless that
     * was done since an entry was last removed.
     */
    private void shrink(OpenStoreFiles files, SealedSegment sealed, IndexSnapshot snapshot)
            throws IOException {
        SegmentHoles holes =
                SegmentHoles.between(snapshot, sealed.first(), sealed.end(), sealed.length());
        if (holes.end() < sealed.length()) {
            disposer.truncate(files, sealed.segment(), holes.end());
            sealed.setLength(holes.end());
        }
        sealed.setDiskBytes(holes.end());
        if (!canPunch) {
            return;
        }
        long mark = sealed.liveUnits() + 1;
        try {
            if (sealed.segment().punched() != mark) {
                disposer.punch(files, sealed.segment(), holes);
                sealed.segment().setPunched(mark);
            }
            sealed.setDiskBytes(holes.blocks());
        } catch (FileDisposer.StaleException | FileSystemException e) {
            throw e; // a FileSystemException concerns this segment only
        } catch (IOException | RuntimeException | LinkageError e) {
            canPunch = false; // not supported here: entries are copied instead
        }
    }

    /**
     * Copies entries out of segments until little enough is wasted: sparse segments always, others
     * in descending order of waste.
     */
    private void compact(
            OpenStoreFiles files,
            List<SealedSegment> sealed,
            IndexSnapshot snapshot,
            long capacity,
            long tolerated)
            throws IOException {
        long disk = EntryLocation.unit(files.state().appendPosition()) * EntryLocation.UNIT;
        for (SealedSegment each : sealed) {
            disk += each.diskBytes();
        }
        List<SealedSegment> worstFirst = new ArrayList<>(sealed);
        worstFirst.sort(Comparator.comparingDouble(
                each -> -(double) each.wastedBytes() / Math.max(1, each.diskBytes())));
        long targetBytes = tolerated == 0 ? 0 : capacity - tolerated;
        for (SealedSegment each : worstFirst) {
            boolean isSparse = each.liveBytes() < each.length() / SPARSE_FRACTION;
            boolean isWasteful =
                    disk > targetBytes && each.wastedBytes() > each.diskBytes() / WASTED_FRACTION;
            if ((isSparse || isWasteful)
                    && mover.move(files, each, snapshot, capacity)
                    && disposer.confirmsEmpty(files, each.segment())) {
                boolean isRemoved = succeeds(() -> remove(files, each));
                disk -= isRemoved ? each.wastedBytes() : 0;
                sealed.remove(each); // its file is counted if it stays
            }
        }
    }

    private static boolean count(OpenStoreFiles files, List<SealedSegment> sealed)
            throws IOException {
        long units = 0;
        int last = EntryLocation.segment(files.state().appendPosition());
        for (SealedSegment each : sealed) {
            units += EntryLocation.units(each.diskBytes());
        }
        List<Integer> counted =
                sealed.stream().map(each -> each.segment().number()).toList();
        long[] others = {0};
        files.layout().forEachSegment((file, number) -> {
            if (number != last && !counted.contains((int) number)) {
                // sealed since this sweep began, or skipped
                others[0] += EntryLocation.units(Files.size(file));
            }
        });
        files.state().set(StatePage.SEALED_UNITS, units + others[0]);
        StoreRecovery.recountEntries(files); // a damaged count is noticed nowhere else
        return true;
    }
}
