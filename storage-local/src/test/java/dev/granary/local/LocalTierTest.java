package dev.granary.local;

import static dev.granary.cache.contract.PersistentCacheContract.assertHit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.PersistentCacheContract;
import dev.granary.cache.contract.TestEntries;
import dev.granary.local.config.LocalDirectoryException;
import dev.granary.local.config.LocalTierConfig;
import dev.granary.local.directory.BootId;
import dev.granary.local.file.EntryIndex;
import dev.granary.local.file.StoreLayout;
import dev.granary.local.file.StoreStep;
import dev.granary.local.store.EntryReader;
import dev.granary.local.store.IndexCommitter;
import dev.granary.local.store.SegmentStore;
import dev.granary.testing.TestFiles;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Queue;

/**
 * Tests of the local tier beyond the contract: replacing, removing, listing, growing, foreign
 * files.
 */
final class LocalTierTest {
    private final TestEntries entries = new TestEntries("LocalTierTest");
    private final TestClock clock = new TestClock();

    @TempDir
    private Path directory;

    private LocalTier open() throws LocalDirectoryException {
        return LocalTier.open(LocalTierConfig.builder(directory)
                .clock(clock)
                .background(Runnable::run)
                .build());
    }

    @AfterEach
    void invariants() throws IOException, LocalDirectoryException {
        StoreInvariants.check(directory);
    }

    @Test
    @DisplayName(
            "D1 other content replaces an entry, and survives a reopening; clear leaves nothing")
    void replaceAndClear() throws Exception {
        Entry first = entries.entry(100);
        Entry second = entries.entry(first.id(), 5000);
        try (LocalTier tier = open()) {
            tier.store(first);
            assertInstanceOf(StoreResult.Stored.class, tier.store(second));
            assertEquals(StoreInvariants.entryBytes(tier), tier.usedBytes());
            assertEquals(1, StoreInvariants.listed(tier).size());
        }
        try (LocalTier tier = open()) {
            assertHit(second, tier.load(second.id()));
            tier.store(entries.entry(10));
            tier.clear();
            assertEquals(LoadResult.ABSENT, tier.load(second.id()));
            assertEquals(0, tier.usedBytes());
            assertEquals(0, tier.diskBytes());
            assertEquals(List.of(), StoreInvariants.segmentFiles(directory));
            assertInstanceOf(StoreResult.Stored.class, tier.store(second));
            assertHit(second, tier.load(second.id()));
        }
    }

    @Test
    @DisplayName("D9 ids with one hash coexist and never mix; each is replaced and removed alone")
    void collidingIds() throws Exception {
        Sha256 one = Sha256.of(new byte[] {1});
        LocalTierConfig config =
                LocalTierConfig.builder(directory).background(Runnable::run).build();
        try (LocalTier tier =
                LocalTier.open(config, BootId.mark(), id -> one, StoreStep.Listener.NONE)) {
            List<Entry> all = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                all.add(entries.entry(100 + i));
                assertInstanceOf(StoreResult.Stored.class, tier.store(all.get(i)));
            }
            for (Entry entry : all) {
                assertInstanceOf(StoreResult.Duplicate.class, tier.store(entry));
                assertHit(entry, tier.load(entry.id()));
            }
            List<EntryCatalog.Listed> listed = StoreInvariants.listed(tier);
            assertEquals(all.size(), listed.size());
            for (EntryCatalog.Listed each : listed) {
                assertInstanceOf(LoadResult.Hit.class, tier.read(each));
            }
            Entry other = entries.entry(all.get(2).id(), 333);
            assertInstanceOf(StoreResult.Stored.class, tier.store(other));
            tier.discard(all.get(4));
            for (int i = 0; i < all.size(); i++) {
                if (i == 4) {
                    assertEquals(LoadResult.ABSENT, tier.load(all.get(i).id()));
                } else {
                    assertHit(i == 2 ? other : all.get(i), tier.load(all.get(i).id()));
                }
            }
            tier.clear(); // other tiers do not use this hash function
        }
    }

    @Test
    @DisplayName("D10 a located entry is removed only while the index has its location")
    void removalIsExact() throws Exception {
        Entry first = entries.entry(500);
        Entry newer = entries.entry(first.id(), 700);
        try (LocalTier tier = open();
                Arena memory = Arena.ofConfined()) {
            tier.store(first);
            SegmentStore store = SegmentStore.share(
                    directory.toRealPath(), BootId.mark(), StoreStep.Listener.NONE);
            EntryReader reader = new EntryReader(id -> id.hash());
            EntryReader.LocatedEntry located =
                    reader.find(Objects.requireNonNull(store.files()), first.id(), memory);
            tier.store(newer); // replaced after it was found and before it is removed
            assertFalse(new IndexCommitter(store, reader).remove(located));
            assertHit(newer, tier.load(newer.id()));
            tier.discard(first);
            assertHit(newer, tier.load(newer.id()));
            store.release();
        }
    }

    @Test
    @DisplayName("D10 discard removes the content that was read; remove removes the listed entry")
    void discardAndRemove() throws Exception {
        try (LocalTier tier = open()) {
            Entry entry = entries.entry(500);
            Entry other = entries.entry(600);
            tier.store(entry);
            tier.store(other);
            tier.discard(entry);
            assertEquals(LoadResult.ABSENT, tier.load(entry.id()));
            EntryCatalog.Listed listed = StoreInvariants.listed(tier).getFirst();
            assertTrue(tier.remove(listed));
            assertFalse(tier.remove(listed));
            assertEquals(LoadResult.ABSENT, tier.load(other.id()));
            assertEquals(0, tier.usedBytes());
        }
    }

    @Test
    @DisplayName("D16 directories removed under an open tier are created by the next store; foreign"
            + " files stay and do not count")
    void removedDirectories() throws Exception {
        Path foreign = directory.resolve("outbox/queued.bin");
        Files.createDirectories(foreign.getParent());
        Files.writeString(foreign, "not ours");
        try (LocalTier tier = open()) {
            Entry entry = entries.entry(500);
            tier.store(entry);
            Path among = Files.writeString(directory.resolve("v2/segments/README"), "foreign");
            Path stray = Files.writeString(directory.resolve("v2/stray"), "foreign");
            assertTrue(tier.sweepNow());
            assertEquals(List.of(stray, among), tier.usage().foreign());
            assertHit(entry, tier.load(entry.id()));
            tier.clear();
            assertTrue(Files.exists(among) && Files.exists(stray));
            tier.store(entry);
            TestFiles.deleteTree(directory.resolve("v2"));
            Entry next = entries.entry(600);
            assertInstanceOf(StoreResult.Stored.class, tier.store(next));
            assertHit(next, tier.load(next.id()));
            assertEquals(LoadResult.ABSENT, tier.load(entry.id()));
            TestFiles.deleteTree(directory.resolve("v2/segments"));
            assertInstanceOf(StoreResult.Stored.class, tier.store(entry));
            assertHit(entry, tier.load(entry.id()));
        }
        try (LocalTier tier = open()) {
            Entry next = entries.entry(600);
            assertInstanceOf(StoreResult.Stored.class, tier.store(next));
            assertHit(next, tier.load(next.id()));
        }
        assertTrue(Files.exists(foreign));
    }

    @Test
    @DisplayName(
            "D16 entries stored after the segments were removed under an open tier are visible to"
                    + " the next process")
    void storedAfterRemoval() throws Exception {
        Entry after = entries.entry(700);
        try (LocalTier tier = open()) {
            tier.store(entries.entry(600));
            TestFiles.deleteTree(directory.resolve("v2/segments"));
            assertInstanceOf(StoreResult.Stored.class, tier.store(after));
            assertHit(after, tier.load(after.id()));
        }
        try (LocalTier tier = open()) {
            assertHit(after, tier.load(after.id()));
        }
    }

    @Test
    @DisplayName("D21 a duplicate writes nothing")
    void duplicateWritesNothing() throws Exception {
        try (LocalTier tier = open()) {
            Entry entry = entries.entry(500);
            tier.store(entry);
            long before = tier.diskBytes();
            assertInstanceOf(StoreResult.Duplicate.class, tier.store(entry));
            assertEquals(before, tier.diskBytes());
        }
    }

    @Test
    @DisplayName(
            "The catalog lists every entry with its length and last use, and reads it by its name")
    void catalogue() throws Exception {
        try (LocalTier tier = open();
                Arena memory = Arena.ofConfined()) {
            Entry entry = entries.entry(300);
            Entry large = entries.entry(40_000);
            tier.store(entry);
            clock.advance(Duration.ofSeconds(5));
            tier.store(large);
            List<EntryCatalog.Listed> listed = StoreInvariants.listed(tier);
            assertEquals(2, listed.size());
            EntryCatalog.Listed mine = listed.stream()
                    .filter(l -> l.hash().equals(entry.id().hash()))
                    .findFirst()
                    .orElseThrow();
            assertEquals(TestEntries.TARGET.path(), mine.namespace());
            assertEquals(clock.millis() - 5000, mine.lastUsedMillis());
            assertHit(entry, tier.read(mine));
            assertHit(entry, tier.read(mine, memory));
            assertHit(entry, tier.load(entry.id()));
            assertEquals(
                    clock.millis(),
                    StoreInvariants.listed(tier).stream()
                            .filter(l -> l.hash().equals(mine.hash()))
                            .findFirst()
                            .orElseThrow()
                            .lastUsedMillis(),
                    "listing shows uses at once");
        }
    }

    @Test
    @DisplayName("T5 a namespace that leads out of the directory matches no entry")
    void pathTraversal() throws Exception {
        try (LocalTier tier = open()) {
            Entry entry = entries.entry(10);
            tier.store(entry);
            for (String namespace : List.of(
                    "../../etc", "opencl/../..", "/etc/x", "opencl/..", "opencl", "a/b/c", "")) {
                assertEquals(
                        LoadResult.ABSENT,
                        tier.read(new EntryCatalog.Listed(namespace, Sha256.of(new byte[0]), 1, 0)),
                        namespace);
                assertFalse(
                        tier.read(new EntryCatalog.Listed(namespace, entry.id().hash(), 1, 0))
                                instanceof LoadResult.Hit,
                        namespace);
            }
        }
    }

    @Test
    @DisplayName("The index grows with the entries; recorded uses survive that")
    void growth() throws Exception {
        List<Entry> all = new ArrayList<>();
        try (LocalTier tier = open();
                LocalTier other = open()) {
            for (int i = 0; i < 3 * EntryIndex.MIN_SLOTS; i++) {
                Entry entry = entries.entry(10 + i % 50);
                all.add(entry);
                if (i == 2000) {
                    clock.advance(Duration.ofHours(1));
                    assertHit(all.get(0), tier.load(all.get(0).id()));
                }
                assertInstanceOf(
                        StoreResult.Stored.class, (i % 2 == 0 ? tier : other).store(entry));
            }
            assertTrue(
                    Files.exists(new StoreLayout(directory).index(4)), "it has grown three times");
            for (Entry entry : all) {
                assertHit(entry, other.load(entry.id()));
            }
        }
        try (LocalTier tier = open()) {
            assertEquals(all.size(), StoreInvariants.listed(tier).size());
            assertEquals(StoreInvariants.entryBytes(tier), tier.usedBytes());
        }
    }

    @Test
    @DisplayName("An entry larger than a segment gets one of its own")
    void large() throws Exception {
        LocalTierConfig config = LocalTierConfig.builder(directory)
                .capacityBytes(20 << 20)
                .background(Runnable::run)
                .build();
        try (LocalTier tier = LocalTier.open(config)) {
            Entry before = entries.entry(1000);
            Entry large = entries.entry(5 << 20);
            Entry after = entries.entry(1000);
            for (Entry entry : List.of(before, large, after)) {
                assertInstanceOf(StoreResult.Stored.class, tier.store(entry));
            }
            for (Entry entry : List.of(before, large, after)) {
                assertHit(entry, tier.load(entry.id()));
            }
        }
    }

    @Test
    @DisplayName("An interrupted thread loads and stores like any other, and stays interrupted")
    void interrupted() throws Exception {
        try (LocalTier tier = open()) {
            Entry entry = entries.entry(3000);
            Thread.currentThread().interrupt();
            assertInstanceOf(StoreResult.Stored.class, tier.store(entry));
            assertTrue(Thread.currentThread().isInterrupted());
            LoadResult loaded = tier.load(entry.id());
            assertTrue(tier.usedBytes() > 3000);
            assertTrue(Thread.interrupted());
            assertHit(entry, loaded);
        }
    }

    @Test
    @DisplayName("A hit's binaries lie outside the heap; those of an arena end with it")
    void offHeap() throws Exception {
        try (LocalTier tier = open()) {
            Entry entry = entries.entry(3000);
            tier.store(entry);
            assertTrue(PersistentCacheContract.hit(tier.load(entry.id()))
                    .binaries()
                    .binary(0)
                    .isNative());
            MemorySegment inArena;
            try (Arena memory = Arena.ofConfined()) {
                LoadResult loaded = tier.load(entry.id(), memory);
                assertHit(entry, loaded);
                inArena = PersistentCacheContract.hit(loaded).binaries().binary(0);
                assertTrue(inArena.isNative());
            }
            assertThrows(
                    IllegalStateException.class,
                    () -> inArena.get(java.lang.foreign.ValueLayout.JAVA_BYTE, 0));
        }
    }

    @Test
    @DisplayName(
            "E10 opening and lookups start no background work, whatever the state of the store")
    void openScansNothing() throws Exception {
        Entry entry = entries.entry(3000);
        try (LocalTier tier = open()) {
            tier.store(entry);
        }
        Queue<Runnable> waiting = new ArrayDeque<>();
        try (LocalTier tier = LocalTier.open(
                LocalTierConfig.builder(directory).background(waiting::add).build())) {
            assertHit(entry, tier.load(entry.id()));
            assertInstanceOf(StoreResult.Stored.class, tier.store(entries.entry(100)));
            assertTrue(waiting.isEmpty());
        }
    }

    @Test
    @DisplayName("The configuration refuses a negative capacity, and has a default (E8)")
    void configuration() throws Exception {
        assertThrows(
                IllegalArgumentException.class,
                () -> LocalTierConfig.builder(directory).capacityBytes(-1).build());
        try (LocalTier tier = LocalTier.open(LocalTierConfig.builder(directory).build())) {
            assertEquals(LocalTierConfig.DEFAULT_CAPACITY_BYTES, tier.capacityBytes());
            assertEquals(directory.toAbsolutePath(), tier.directory());
            assertThrows(IllegalArgumentException.class, () -> tier.setCapacity(-1));
        }
    }
}
