package dev.granary.local;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.support.FileTrees;
import dev.granary.local.config.LocalDirectoryException;
import dev.granary.local.config.LocalTierConfig;
import dev.granary.local.directory.BootId;
import dev.granary.local.file.EntryIndex;
import dev.granary.local.file.StoreLayout;
import dev.granary.local.file.StoreStep;
import dev.granary.local.store.EntryReader;
import dev.granary.local.store.EntryRemover;
import dev.granary.local.store.SegmentStore;

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
            assertThat(tier.store(second)).isStored();
            assertEquals(StoreInvariants.entryBytes(tier), tier.usedBytes());
            assertEquals(1, StoreInvariants.listed(tier).size());
        }
        try (LocalTier tier = open()) {
            assertThat(tier.load(second.id())).isHitOf(second);
            tier.store(entries.entry(10));
            tier.clear();
            assertThat(tier.load(second.id())).isAbsent();
            assertEquals(0, tier.usedBytes());
            assertEquals(0, tier.diskBytes());
            assertEquals(List.of(), StoreInvariants.segmentFiles(directory));
            assertThat(tier.store(second)).isStored();
            assertThat(tier.load(second.id())).isHitOf(second);
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
                assertThat(tier.store(all.get(i))).isStored();
            }
            for (Entry entry : all) {
                assertThat(tier.store(entry)).isDuplicate();
                assertThat(tier.load(entry.id())).isHitOf(entry);
            }
            List<EntryCatalog.Listed> listed = StoreInvariants.listed(tier);
            assertEquals(all.size(), listed.size());
            for (EntryCatalog.Listed each : listed) {
                assertThat(tier.read(each)).isHit();
            }
            Entry other = entries.entry(all.get(2).id(), 333);
            assertThat(tier.store(other)).isStored();
            tier.discard(all.get(4));
            for (int i = 0; i < all.size(); i++) {
                if (i == 4) {
                    assertThat(tier.load(all.get(i).id())).isAbsent();
                } else {
                    assertThat(tier.load(all.get(i).id())).isHitOf(i == 2 ? other : all.get(i));
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
            assertFalse(new EntryRemover(store).remove(located));
            assertThat(tier.load(newer.id())).isHitOf(newer);
            tier.discard(first);
            assertThat(tier.load(newer.id())).isHitOf(newer);
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
            assertThat(tier.load(entry.id())).isAbsent();
            EntryCatalog.Listed listed = StoreInvariants.listed(tier).getFirst();
            assertTrue(tier.remove(listed));
            assertFalse(tier.remove(listed));
            assertThat(tier.load(other.id())).isAbsent();
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
            assertThat(tier.load(entry.id())).isHitOf(entry);
            tier.clear();
            assertTrue(Files.exists(among) && Files.exists(stray));
            tier.store(entry);
            FileTrees.delete(directory.resolve("v2"));
            Entry next = entries.entry(600);
            assertThat(tier.store(next)).isStored();
            assertThat(tier.load(next.id())).isHitOf(next);
            assertThat(tier.load(entry.id())).isAbsent();
            FileTrees.delete(directory.resolve("v2/segments"));
            assertThat(tier.store(entry)).isStored();
            assertThat(tier.load(entry.id())).isHitOf(entry);
        }
        try (LocalTier tier = open()) {
            Entry next = entries.entry(600);
            assertThat(tier.store(next)).isStored();
            assertThat(tier.load(next.id())).isHitOf(next);
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
            FileTrees.delete(directory.resolve("v2/segments"));
            assertThat(tier.store(after)).isStored();
            assertThat(tier.load(after.id())).isHitOf(after);
        }
        try (LocalTier tier = open()) {
            assertThat(tier.load(after.id())).isHitOf(after);
        }
    }

    @Test
    @DisplayName("D21 a duplicate writes nothing")
    void duplicateWritesNothing() throws Exception {
        try (LocalTier tier = open()) {
            Entry entry = entries.entry(500);
            tier.store(entry);
            long before = tier.diskBytes();
            assertThat(tier.store(entry)).isDuplicate();
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
            assertThat(tier.read(mine)).isHitOf(entry);
            assertThat(tier.read(mine, memory)).isHitOf(entry);
            assertThat(tier.load(entry.id())).isHitOf(entry);
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
                assertThat(tier.read(
                                new EntryCatalog.Listed(namespace, Sha256.of(new byte[0]), 1, 0)))
                        .as(namespace)
                        .isAbsent();
                assertThat(tier.read(
                                new EntryCatalog.Listed(namespace, entry.id().hash(), 1, 0)))
                        .as(namespace)
                        .isMiss();
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
                    assertThat(tier.load(all.get(0).id())).isHitOf(all.get(0));
                }
                assertThat((i % 2 == 0 ? tier : other).store(entry)).isStored();
            }
            assertTrue(
                    Files.exists(new StoreLayout(directory).index(4)), "it has grown three times");
            for (Entry entry : all) {
                assertThat(other.load(entry.id())).isHitOf(entry);
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
                assertThat(tier.store(entry)).isStored();
            }
            for (Entry entry : List.of(before, large, after)) {
                assertThat(tier.load(entry.id())).isHitOf(entry);
            }
        }
    }

    @Test
    @DisplayName("An interrupted thread loads and stores like any other, and stays interrupted")
    void interrupted() throws Exception {
        try (LocalTier tier = open()) {
            Entry entry = entries.entry(3000);
            Thread.currentThread().interrupt();
            assertThat(tier.store(entry)).isStored();
            assertTrue(Thread.currentThread().isInterrupted());
            LoadResult loaded = tier.load(entry.id());
            assertTrue(tier.usedBytes() > 3000);
            assertTrue(Thread.interrupted());
            assertThat(loaded).isHitOf(entry);
        }
    }

    @Test
    @DisplayName("A hit's binaries lie outside the heap; those of an arena end with it")
    void offHeap() throws Exception {
        try (LocalTier tier = open()) {
            Entry entry = entries.entry(3000);
            tier.store(entry);
            assertTrue(assertThat(tier.load(entry.id()))
                    .isHit()
                    .binaries()
                    .binary(0)
                    .isNative());
            MemorySegment inArena;
            try (Arena memory = Arena.ofConfined()) {
                LoadResult loaded = tier.load(entry.id(), memory);
                assertThat(loaded).isHitOf(entry);
                inArena = assertThat(loaded).isHit().binaries().binary(0);
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
            assertThat(tier.load(entry.id())).isHitOf(entry);
            assertThat(tier.store(entries.entry(100))).isStored();
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
