package dev.granary.local;

import static dev.granary.cache.contract.PersistentCacheContract.assertHit;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Each act that removes or cuts something of the store asks first: the rows of docs/deletions.md. */
@Timeout(60)
final class DisposerTest {
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
        tier = open(Step.Listener.NONE);
        store = SegmentStore.share(directory.toRealPath(), Boot.mark(), Step.Listener.NONE);
        for (int i = 0; i < 3 * IN_A_SEGMENT; i++) {
            entries.add(Material.entry("entry" + i, SIZE));
            tier.store(entries.getLast());
        }
    }

    @AfterEach
    void close() throws IOException, LocalDirectoryException {
        store.release();
        tier.close();
        Invariants.check(directory);
    }

    private LocalTier open(Step.Listener steps) throws LocalDirectoryException {
        LocalConfig config = LocalConfig.builder(directory).capacityBytes(CAPACITY).policy(EvictionPolicy.FIFO).background(Runnable::run).build();
        return LocalTier.open(config, Boot.mark(), id -> id.hash(), steps);
    }

    private StoreFiles files() throws IOException {
        return Objects.requireNonNull(store.files());
    }

    /** The first segment, closed. */
    private Segment closed() throws IOException {
        Segment segment = files().segments().get(1);
        segment.setPhase(Segment.Phase.CLOSED);
        return segment;
    }

    private static void assertAllHit(LocalTier tier, List<Entry> entries) {
        entries.forEach(entry -> assertHit(entry, tier.load(entry.id())));
    }

    @Test
    @DisplayName("A3 a plan that does not know an entry of the index, or takes it for shorter, is not confirmed")
    void plans() throws Exception {
        Disposer disposer = new Disposer(store);
        Segment segment = closed();
        Snapshot snapshot = Snapshot.of(files().index());
        assertTrue(disposer.confirms(files(), snapshot, List.of(segment)));
        Index index = files().index();
        long free = Tail.location(1, segment.length() / Tail.UNIT - 1);
        assertEquals(1, index.insert(77, free, 1, 0, 0));
        assertFalse(disposer.confirms(files(), snapshot, List.of(segment)), "an entry that the plan does not know");
        index.remove(index.find(77, free));
        assertTrue(disposer.confirms(files(), snapshot, List.of(segment)));
        int slot = snapshot.slot(0);
        long tag = index.tagOf(slot);
        long location = index.location(slot);
        long units = index.units(slot);
        index.remove(slot);
        assertTrue(index.insert(tag, location, units + 1, 0, 0) >= 0);
        assertFalse(disposer.confirms(files(), snapshot, List.of(segment)), "an entry that is longer than the plan says");
        index.remove(index.find(tag, location));
        assertTrue(index.insert(tag, location, units, 0, 0) >= 0);
    }

    @Test
    @DisplayName("A3 no plan is confirmed for a segment that takes entries, or is the last one, or of another store")
    void segmentsThatLive() throws Exception {
        Disposer disposer = new Disposer(store);
        Snapshot snapshot = Snapshot.of(files().index());
        Segment open = files().segments().get(1);
        assertEquals(Segment.Phase.OPEN, open.phase());
        assertFalse(disposer.confirms(files(), snapshot, List.of(open)), "it takes entries");
        int number = Tail.segment(files().state().tail());
        Segment last = files().segments().get(number);
        last.setPhase(Segment.Phase.CLOSED);
        assertFalse(disposer.confirms(files(), snapshot, List.of(last)), "the last one");
        StoreFiles other = new StoreFiles(store.layout(), files().state());
        assertFalse(disposer.confirms(other, snapshot, List.of(closed())), "of another store");
        assertFalse(disposer.confirmsEmpty(other, closed()));
    }

    @Test
    @DisplayName("A3 a segment is taken for empty only when the index has nothing in it")
    void emptySegments() throws Exception {
        Disposer disposer = new Disposer(store);
        Segment segment = closed();
        assertFalse(disposer.confirmsEmpty(files(), segment));
        for (Entry entry : entries.subList(0, 2 * IN_A_SEGMENT)) {
            tier.discard(entry);
        }
        assertTrue(disposer.confirmsEmpty(files(), segment));
        assertFalse(disposer.confirmsEmpty(files(), files().segments().get(Tail.segment(files().state().tail()))));
    }

    @ParameterizedTest
    @EnumSource(names = {"CLOSED", "MARKED_GONE", "PUNCHED"})
    @DisplayName("A3 the directory is replaced while a sweep is at it: nothing of the new store is removed, cut or emptied")
    void replacedStore(Step at) throws Exception {
        for (int i = 0; i < 2 * IN_A_SEGMENT; i++) { // one segment to remove, one to punch
            if (i < IN_A_SEGMENT + 5 || i % 2 == 0) {
                tier.discard(entries.get(i));
            }
        }
        tier.close();
        store.release();
        boolean[] done = {false};
        List<Entry> fresh = new ArrayList<>();
        Step.Listener replacing = step -> {
            if (step == at && !done[0]) {
                done[0] = true;
                try {
                    Tree.delete(directory.resolve("v2"));
                    for (int i = 0; i < 3 * IN_A_SEGMENT; i++) {
                        fresh.add(Material.entry("fresh" + i, SIZE));
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
        store = SegmentStore.share(directory.toRealPath(), Boot.mark(), Step.Listener.NONE);
    }

    @Test
    @DisplayName("A3 the last segment is not cut where the index has entries behind an end that was set back")
    void endSetBack() throws Exception {
        State state = files().state();
        long end = state.tail();
        long back = Tail.location(Tail.segment(end), Tail.unit(end) / 2);
        assertTrue(state.exchange(State.TAIL, Tail.withCheck(end), Tail.withCheck(back)));
        Entry large = Material.entry("large", 2 << 20); // needs a segment of its own
        tier.store(large);
        assertAllHit(tier, entries);
        assertHit(large, tier.load(large.id()));
        assertTrue(tier.sweepNow());
        assertAllHit(tier, entries);
    }

    @Test
    @DisplayName("A3 an index stays where the one that the state names is not there")
    void onlyIndex() throws Exception {
        State state = files().state();
        long present = state.get(State.GENERATION);
        Path spare = Files.write(store.layout().index(present + 7), new byte[Index.SLOT_BYTES]);
        state.set(State.GENERATION, present + 3);
        Disposer.removeOtherIndexes(files());
        assertTrue(Files.exists(store.layout().index(present)));
        state.set(State.GENERATION, present);
        Disposer.removeOtherIndexes(files());
        assertFalse(Files.exists(spare));
        assertAllHit(tier, entries);
    }

    @Test
    @DisplayName("A3 an index that cannot be created leaves the one that has its name")
    void indexInTheWay() throws Exception {
        Path file = store.layout().index(files().state().get(State.GENERATION));
        byte[] before = Files.readAllBytes(file);
        assertThrows(FileAlreadyExistsException.class, () -> Index.create(file, 1, Index.MIN_SLOTS));
        assertArrayEquals(before, Files.readAllBytes(file));
    }

    @Test
    @DisplayName("A3 D10 an entry is taken out of a slot only while it lies where it was found")
    void slots() throws Exception {
        Index index = files().index();
        Snapshot snapshot = Snapshot.of(index);
        int slot = snapshot.slot(0);
        long location = snapshot.location(0);
        assertFalse(Commit.removeAt(files(), index, slot, location + 1));
        assertFalse(Commit.removeAt(files(), index.tagOf(slot), location + 1));
        assertAllHit(tier, entries);
    }
}
