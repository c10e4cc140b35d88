package dev.granary.local.store;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.support.FileTrees;
import dev.granary.local.LocalTier;
import dev.granary.local.SharedEntries;
import dev.granary.local.StoreInvariants;
import dev.granary.local.config.EvictionPolicy;
import dev.granary.local.config.LocalDirectoryException;
import dev.granary.local.config.LocalTierConfig;
import dev.granary.local.directory.BootId;
import dev.granary.local.file.EntryIndex;
import dev.granary.local.file.EntryLocation;
import dev.granary.local.file.IndexSnapshot;
import dev.granary.local.file.OpenStoreFiles;
import dev.granary.local.file.SegmentFile;
import dev.granary.local.file.StatePage;
import dev.granary.local.file.StoreStep;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Tests that each act that removes or truncates files checks first: the rows of docs/deletions.md.
 */
@Timeout(600)
final class FileDisposerTest {
    private static final int SIZE = 10_000;
    private static final int IN_A_SEGMENT = (1 << 20) / (SIZE + 500);
    private static final long CAPACITY = 16 << 20;

    @TempDir
    private Path temporary;

    private Path directory;
    private SegmentStore store;
    private LocalTier tier;
    private List<Entry> entries = new ArrayList<>();

    @BeforeEach
    void fill() throws Exception {
        directory = temporary.resolve("cache");
        tier = open(StoreStep.Listener.NONE);
        store = SegmentStore.share(directory.toRealPath(), BootId.mark(), StoreStep.Listener.NONE);
        for (int i = 0; i < 3 * IN_A_SEGMENT; i++) {
            entries.add(SharedEntries.entry("entry" + i, SIZE));
            tier.store(entries.getLast());
        }
    }

    @AfterEach
    void close() throws IOException, LocalDirectoryException {
        store.release();
        tier.close();
        StoreInvariants.check(directory);
    }

    private LocalTier open(StoreStep.Listener steps) throws LocalDirectoryException {
        LocalTierConfig config = LocalTierConfig.builder(directory)
                .capacityBytes(CAPACITY)
                .policy(EvictionPolicy.FIFO)
                .background(Runnable::run)
                .build();
        return LocalTier.open(config, BootId.mark(), id -> id.hash(), steps);
    }

    private OpenStoreFiles files() throws IOException {
        return Objects.requireNonNull(store.files());
    }

    /** Returns the first segment, closed. */
    private SegmentFile closed() throws IOException {
        SegmentFile segment = files().segments().get(1);
        segment.setPhase(SegmentFile.Phase.CLOSED);
        return segment;
    }

    private static void assertAllHit(LocalTier tier, List<Entry> entries) {
        entries.forEach(entry -> assertThat(tier.load(entry.id())).isHitOf(entry));
    }

    @Test
    @DisplayName(
            "A3 a plan that lacks an entry of the index, or has it as shorter, is not confirmed")
    void plans() throws Exception {
        FileDisposer disposer = new FileDisposer(store);
        SegmentFile segment = closed();
        IndexSnapshot snapshot = IndexSnapshot.of(files().index());
        assertTrue(disposer.confirms(files(), snapshot, List.of(segment)));
        EntryIndex index = files().index();
        long free = EntryLocation.location(1, segment.length() / EntryLocation.UNIT - 1);
        assertEquals(1, index.insert(77, free, 1, 0, 0));
        assertFalse(
                disposer.confirms(files(), snapshot, List.of(segment)),
                "an entry that the plan does not know");
        index.remove(index.find(77, free));
        assertTrue(disposer.confirms(files(), snapshot, List.of(segment)));
        int slot = snapshot.slot(0);
        long tag = index.tagOf(slot);
        long location = index.location(slot);
        long units = index.units(slot);
        index.remove(slot);
        assertTrue(index.insert(tag, location, units + 1, 0, 0) >= 0);
        assertFalse(
                disposer.confirms(files(), snapshot, List.of(segment)),
                "an entry that is longer than the plan says");
        index.remove(index.find(tag, location));
        assertTrue(index.insert(tag, location, units, 0, 0) >= 0);
    }

    @Test
    @DisplayName("A3 F10 a damaged location is in no segment: a plan without it is confirmed")
    void damagedLocations() throws Exception {
        SegmentFile segment = closed();
        IndexSnapshot snapshot = IndexSnapshot.of(files().index());
        EntryIndex index = files().index();
        long free = EntryLocation.location(1, segment.length() / EntryLocation.UNIT - 1);
        // a segment number of 32 bits; one whose lower 32 bits are those of the closed segment
        for (long damaged : new long[] {free | 1L << 57, free | 1L << 58}) {
            assertTrue(index.insert(77, damaged, 1, 0, 0) >= 0);
            assertTrue(
                    new FileDisposer(store).confirms(files(), snapshot, List.of(segment)),
                    () -> Long.toHexString(damaged));
            index.remove(index.find(77, damaged));
        }
    }

    @Test
    @DisplayName(
            "A3 no plan is confirmed for a segment that is open, the last one, or of another store")
    void segmentsThatLive() throws Exception {
        FileDisposer disposer = new FileDisposer(store);
        IndexSnapshot snapshot = IndexSnapshot.of(files().index());
        SegmentFile open = files().segments().get(1);
        assertEquals(SegmentFile.Phase.OPEN, open.phase());
        assertFalse(disposer.confirms(files(), snapshot, List.of(open)), "it takes entries");
        int number = EntryLocation.segment(files().state().appendPosition());
        SegmentFile last = files().segments().get(number);
        last.setPhase(SegmentFile.Phase.CLOSED);
        assertFalse(disposer.confirms(files(), snapshot, List.of(last)), "the last one");
        OpenStoreFiles other = new OpenStoreFiles(store.layout(), files().state());
        assertFalse(disposer.confirms(other, snapshot, List.of(closed())), "of another store");
        assertFalse(disposer.confirmsEmpty(other, closed()));
    }

    @Test
    @DisplayName("A3 a segment counts as empty only if the index has no entry in it")
    void emptySegments() throws Exception {
        FileDisposer disposer = new FileDisposer(store);
        SegmentFile segment = closed();
        assertFalse(disposer.confirmsEmpty(files(), segment));
        for (Entry entry : entries.subList(0, 2 * IN_A_SEGMENT)) {
            tier.discard(entry);
        }
        assertTrue(disposer.confirmsEmpty(files(), segment));
        assertFalse(disposer.confirmsEmpty(
                files(),
                files().segments().get(EntryLocation.segment(files().state().appendPosition()))));
    }

    @ParameterizedTest
    @EnumSource(names = {"CLOSED", "MARKED_GONE", "PUNCHED"})
    @DisplayName("A3 the directory is replaced during a sweep: nothing of the new store is removed,"
            + " truncated or emptied")
    void replacedStore(StoreStep at) throws Exception {
        for (int i = 0; i < 2 * IN_A_SEGMENT; i++) { // one segment to remove, one to punch
            if (i < IN_A_SEGMENT + 5 || i % 2 == 0) {
                tier.discard(entries.get(i));
            }
        }
        tier.close();
        store.release();
        boolean[] done = {false};
        List<Entry> fresh = new ArrayList<>();
        StoreStep.Listener replacing = step -> {
            if (step == at && !done[0]) {
                done[0] = true;
                try {
                    FileTrees.delete(directory.resolve("v2"));
                    for (int i = 0; i < 3 * IN_A_SEGMENT; i++) {
                        fresh.add(SharedEntries.entry("fresh" + i, SIZE));
                        tier.store(fresh.getLast());
                    }
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        };
        tier = open(replacing);
        tier.sweepNow();
        assertTrue(done[0], "the sweep came to " + at);
        assertAllHit(tier, fresh);
        store = SegmentStore.share(directory.toRealPath(), BootId.mark(), StoreStep.Listener.NONE);
    }

    @Test
    @DisplayName("A3 the last segment is not truncated if the index has entries beyond an append"
            + " position that was set back")
    void endSetBack() throws Exception {
        StatePage state = files().state();
        long end = state.appendPosition();
        long back = EntryLocation.location(EntryLocation.segment(end), EntryLocation.unit(end) / 2);
        assertTrue(state.compareAndSet(
                StatePage.APPEND_POSITION,
                EntryLocation.withCheck(end),
                EntryLocation.withCheck(back)));
        Entry large = SharedEntries.entry("large", 2 << 20); // needs a segment of its own
        tier.store(large);
        assertAllHit(tier, entries);
        assertThat(tier.load(large.id())).isHitOf(large);
        assertTrue(tier.sweepNow());
        assertAllHit(tier, entries);
    }

    @Test
    @DisplayName("A3 an index stays if the one that the state page names is missing")
    void onlyIndex() throws Exception {
        StatePage state = files().state();
        long present = state.get(StatePage.GENERATION);
        Path spare =
                Files.write(store.layout().index(present + 7), new byte[EntryIndex.SLOT_BYTES]);
        state.set(StatePage.GENERATION, present + 3);
        FileDisposer.removeOtherIndexes(files());
        assertTrue(Files.exists(store.layout().index(present)));
        state.set(StatePage.GENERATION, present);
        FileDisposer.removeOtherIndexes(files());
        assertFalse(Files.exists(spare));
        assertAllHit(tier, entries);
    }

    @Test
    @DisplayName("A3 an index that cannot be created leaves the one that has its name")
    void indexInTheWay() throws Exception {
        Path file = store.layout().index(files().state().get(StatePage.GENERATION));
        byte[] before = Files.readAllBytes(file);
        assertThrows(
                FileAlreadyExistsException.class,
                () -> EntryIndex.create(file, 1, EntryIndex.MIN_SLOTS));
        assertArrayEquals(before, Files.readAllBytes(file));
    }

    @Test
    @DisplayName("A3 D10 an entry is removed from a slot only while its location is unchanged")
    void slots() throws Exception {
        EntryIndex index = files().index();
        IndexSnapshot snapshot = IndexSnapshot.of(index);
        int slot = snapshot.slot(0);
        long location = snapshot.location(0);
        assertFalse(EntryRemover.removeAt(files(), index, slot, location + 1));
        assertFalse(EntryRemover.removeAt(files(), index.tagOf(slot), location + 1));
        assertAllHit(tier, entries);
    }

    /** Copy of a slot of the index, to be inserted again. */
    private record Slot(long tag, long location, long units) {}

    private void enter(List<Slot> slots) throws IOException {
        for (Slot slot : slots) {
            assertTrue(
                    files().index().insert(slot.tag(), slot.location(), slot.units(), 0, 0) >= 0);
        }
    }

    private List<Slot> slots(int segment) throws IOException {
        EntryIndex index = files().index();
        List<Slot> slots = new ArrayList<>();
        for (int slot = 0; slot < index.count(); slot++) {
            if (EntryLocation.segment(index.location(slot)) == segment) {
                slots.add(new Slot(index.tagOf(slot), index.location(slot), index.units(slot)));
            }
        }
        return slots;
    }

    /** Listener that runs an action at the first step of a kind after another one. */
    private final class Once implements StoreStep.Listener {
        private final StoreStep after;
        private final StoreStep at;
        private final ThrowingRunnable due;
        private boolean isNear;
        private boolean isDone;

        Once(StoreStep after, StoreStep at, ThrowingRunnable due) {
            this.after = after;
            this.at = at;
            this.due = due;
        }

        @Override
        public void done(StoreStep step) {
            if (!isDone && isNear && step == at) {
                isDone = true;
                try {
                    due.run();
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
            isNear |= step == after;
        }

        void sweep() throws Exception {
            tier.close();
            store.release();
            tier = open(this);
            store = SegmentStore.share(
                    directory.toRealPath(), BootId.mark(), StoreStep.Listener.NONE);
            tier.sweepNow();
            assertTrue(isDone, "the sweep came to " + at + " after " + after);
        }
    }

    private interface ThrowingRunnable {
        void run() throws IOException;
    }

    @Test
    @DisplayName("A3 no act changes a segment whose store has another state page by now")
    void replacedState() throws Exception {
        FileDisposer disposer = new FileDisposer(store);
        SegmentFile segment = closed();
        OpenStoreFiles basis = files();
        Path aside = temporary.resolve("aside");
        Files.move(store.layout().state(), aside);
        assertThrows(FileDisposer.StaleException.class, () -> disposer.markGone(basis, segment));
        assertThrows(
                FileDisposer.StaleException.class,
                () -> disposer.truncate(basis, segment, EntryLocation.UNIT));
        assertThrows(
                FileDisposer.StaleException.class,
                () -> disposer.empty(basis, segment, Files.size(segment.file())));
        assertThrows(FileDisposer.StaleException.class, () -> disposer.remove(basis, segment));
        Files.move(aside, store.layout().state());
        assertAllHit(tier, entries);
    }

    @Test
    @DisplayName("A3 a sweep reclaims nothing if its plan is not confirmed")
    void planOfTheSweep() throws Exception {
        List<Slot> first = slots(1);
        List<Entry> gone = entries.subList(0, first.size());
        gone.forEach(tier::discard);
        new Once(StoreStep.CLOSED, StoreStep.LOCKED, () -> enter(first)).sweep();
        assertAllHit(tier, entries);
    }

    @Test
    @DisplayName("A3 a segment that was copied stays if the index still has an entry in it")
    void copiedButNotEmpty() throws Exception {
        List<Slot> first = slots(1);
        // the last one keeps the segment long
        entries.subList(0, first.size() - 1).forEach(tier::discard);
        List<Slot> left = slots(1);
        assertEquals(1, left.size());
        first.removeAll(left);
        new Once(StoreStep.CLOSED, StoreStep.MOVED, () -> enter(first)).sweep();
        assertEquals(first.size(), slots(1).size());
        assertTrue(Files.exists(store.layout().segment(1)));
        tier.clear(); // the entry that was inserted again has no bytes
    }

    @Test
    @DisplayName("A3 an entry that was stored again after the eviction order was computed is not"
            + " evicted with the old ones")
    void storedAnewWhileEvicted() throws Exception {
        tier.clear();
        tier.close();
        store.release();
        boolean[] done = {false};
        Entry anew = SharedEntries.entry("anew300", 2000); // after the first batch of evictions
        tier = open(step -> {
            if (step == StoreStep.EVICTED && !done[0]) {
                done[0] = true;
                tier.discard(anew);
                assertThat(tier.store(anew)).isStored();
            }
        });
        store = SegmentStore.share(directory.toRealPath(), BootId.mark(), StoreStep.Listener.NONE);
        for (int i = 0; i < 2000; i++) {
            assertThat(tier.store(SharedEntries.entry("anew" + i, 2000))).isStored();
        }
        // not low enough for a store to wait for the sweep
        tier.setCapacity(tier.diskBytes() / 6 * 5);
        assertTrue(done[0]);
        assertTrue(
                tier.statistics().evictions() > 300,
                () -> tier.statistics().evictions() + " were evicted");
        assertThat(tier.load(anew.id())).isHitOf(anew);
    }

    @Test
    @DisplayName("A3 a slot that seemed to be dangling is checked again under the lock")
    void judgedAgain() throws Exception {
        Path hidden = store.layout().segments().resolve("hidden");
        Path file = store.layout().segment(2);
        ThrowingRunnable hide = () -> {
            files().segments().forget(2);
            Files.move(file, hidden);
        };
        Once once = new Once(StoreStep.CLOSED, StoreStep.LOCKED, () -> Files.move(hidden, file));
        StoreStep.Listener both = step -> {
            if (step == StoreStep.CLOSED && !once.isDone) {
                try {
                    hide.run();
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
            once.done(step);
        };
        tier.close();
        store.release();
        tier = open(both);
        store = SegmentStore.share(directory.toRealPath(), BootId.mark(), StoreStep.Listener.NONE);
        tier.sweepNow();
        assertTrue(once.isDone);
        assertAllHit(tier, entries);
    }
}
