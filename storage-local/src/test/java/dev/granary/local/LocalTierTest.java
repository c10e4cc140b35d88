package dev.granary.local;

import static dev.granary.cache.contract.PersistentCacheContract.assertHit;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Catalog;
import dev.granary.cache.Damage;
import dev.granary.cache.Entry;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.PersistentCacheContract;
import dev.granary.cache.contract.TestEntries;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The local tier beyond the contract: replacing, removing, listing, foreign files. */
final class LocalTierTest {
    private final TestEntries entries = new TestEntries("LocalTierTest");
    private final TestClock clock = new TestClock();

    @TempDir
    private Path directory;

    private LocalTier open() throws LocalDirectoryException {
        return LocalTier.open(LocalConfig.builder(directory).clock(clock).background(Runnable::run).build());
    }

    @AfterEach
    void invariants() throws IOException, LocalDirectoryException {
        Invariants.check(directory);
    }

    @Test
    @DisplayName("D1 other content replaces, and survives a reopening; clear leaves nothing")
    void replaceAndClear() throws Exception {
        Entry first = entries.entry(100);
        Entry second = entries.entry(first.id(), 5000);
        try (LocalTier tier = open()) {
            tier.store(first);
            assertInstanceOf(StoreResult.Stored.class, tier.store(second));
            assertEquals(Invariants.entryBytes(directory), tier.usedBytes());
        }
        try (LocalTier tier = open()) {
            assertHit(second, tier.load(second.id()));
            tier.store(entries.entry(10));
            tier.clear();
            assertEquals(LoadResult.ABSENT, tier.load(second.id()));
            assertEquals(0, tier.usedBytes());
            assertEquals(List.of(), Invariants.entryFiles(directory));
        }
    }

    @Test
    @DisplayName("D9 ids with one hash live side by side; more of them than places displace each other, never mix")
    void collidingIds() throws Exception {
        Sha256 one = Sha256.of(new byte[] {1});
        LocalConfig config = LocalConfig.builder(directory).background(Runnable::run).build();
        try (LocalTier tier = LocalTier.open(config, id -> one, Step.Listener.NONE)) {
            List<Entry> all = new ArrayList<>();
            for (int i = 0; i < Layout.SLOTS; i++) {
                all.add(entries.entry(100 + i));
            }
            for (Entry entry : all) {
                assertInstanceOf(StoreResult.Stored.class, tier.store(entry));
                assertInstanceOf(StoreResult.Duplicate.class, tier.store(entry));
            }
            for (Entry entry : all) {
                assertHit(entry, tier.load(entry.id()));
            }
            List<Catalog.Listed> listed = new ArrayList<>();
            tier.list(listed::add);
            assertEquals(Layout.SLOTS, listed.size());
            for (Catalog.Listed each : listed) {
                assertInstanceOf(LoadResult.Hit.class, tier.read(each));
            }
            Entry tooMany = entries.entry(200);
            tier.store(tooMany);
            assertHit(tooMany, tier.load(tooMany.id()));
            assertEquals(LoadResult.ABSENT, tier.load(all.getLast().id()));
            assertHit(all.getFirst(), tier.load(all.getFirst().id()));
        }
    }

    @Test
    @DisplayName("D10 a bad entry whose name has gone to a newer one by the time of its removal stays removed alone")
    void removalIsExact() throws Exception {
        Entry entry = entries.entry(500);
        try (LocalTier tier = open()) {
            tier.store(entry);
            Path file = Invariants.entryFiles(directory).getFirst();
            byte[] sound = Files.readAllBytes(file);
            Files.write(file, new byte[] {1, 2, 3});
            Layout layout = new Layout(directory, id -> id.hash());
            Ledger ledger = Ledger.share(layout.ledger());
            Trouble trouble = new Trouble();
            TemporaryFiles aside = new TemporaryFiles(layout.temporary(), clock, entries.random(), Step.Listener.NONE);
            Shelf shelf = new Shelf(layout, ledger, aside, trouble);
            // Another process replaces the file after it was found bad and before it is removed.
            boolean removed = shelf.removeIf(file, entry.id(), found -> {
                replace(file, sound);
                return found instanceof LoadResult.Damaged;
            });
            ledger.release(trouble);
            assertFalse(removed);
            assertHit(entry, tier.load(entry.id()));
        }
    }

    private static void replace(Path file, byte[] content) {
        try {
            Path other = file.resolveSibling("other");
            Files.write(other, content);
            Files.move(other, file, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    @DisplayName("D10 discard drops the content that was read")
    void discard() throws Exception {
        try (LocalTier tier = open()) {
            Entry entry = entries.entry(500);
            tier.store(entry);
            tier.discard(entry);
            assertEquals(LoadResult.ABSENT, tier.load(entry.id()));
            assertEquals(0, tier.usedBytes());
        }
    }

    @Test
    @DisplayName("D16 directories removed under a live cache come back with the next store; foreign files stay and do not count")
    void removedDirectories() throws Exception {
        Path foreign = directory.resolve("outbox/queued.bin");
        Files.createDirectories(foreign.getParent());
        Files.writeString(foreign, "not ours");
        try (LocalTier tier = open()) {
            Entry entry = entries.entry(500);
            tier.store(entry);
            Path shard = Objects.requireNonNull(Invariants.entryFiles(directory).getFirst().getParent());
            Files.writeString(shard.resolve("README"), "foreign");
            Files.writeString(directory.resolve("v1/tmp/foreign"), "foreign");
            Files.writeString(directory.resolve("v1/stray"), "foreign");
            assertTrue(tier.sweepNow());
            assertEquals(Invariants.entryBytes(directory), tier.usedBytes());
            tier.clear();
            assertTrue(Files.exists(shard.resolve("README")) && Files.exists(directory.resolve("v1/tmp/foreign")));
            deleteTree(directory.resolve("v1"));
            assertEquals(LoadResult.ABSENT, tier.load(entry.id()));
            assertInstanceOf(StoreResult.Stored.class, tier.store(entry));
            deleteTree(directory.resolve("v1/tmp"));
            Entry next = entries.entry(600);
            assertInstanceOf(StoreResult.Stored.class, tier.store(next));
            assertHit(next, tier.load(next.id()));
            assertEquals(Invariants.entryBytes(directory), tier.usedBytes());
        }
        assertTrue(Files.exists(foreign));
    }

    private static void deleteTree(Path tree) throws IOException {
        try (var all = Files.walk(tree)) {
            for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        }
    }

    @Test
    @DisplayName("D17 temporary files go when they are old, and only then")
    void staleTemporaryFiles() throws Exception {
        try (LocalTier tier = open()) {
            tier.store(entries.entry(10));
            Path left = directory.resolve("v1/tmp/1-dead-0" + Layout.TEMPORARY);
            Files.write(left, new byte[100]);
            Files.setLastModifiedTime(left, FileTime.from(clock.instant()));
            clock.advance(TemporaryFiles.STALE);
            assertTrue(tier.sweepNow());
            assertTrue(Files.exists(left));
            clock.advance(Duration.ofSeconds(1));
            assertTrue(tier.sweepNow());
            assertFalse(Files.exists(left));
            assertEquals(1, tier.statistics().sweptTemporaryFiles());
        }
    }

    @Test
    @DisplayName("D21 a duplicate writes nothing: the file stays the same one")
    void duplicateWritesNothing() throws Exception {
        try (LocalTier tier = open()) {
            Entry entry = entries.entry(500);
            tier.store(entry);
            EntryFile.Identity before = EntryFile.Identity.of(Invariants.entryFiles(directory).getFirst());
            assertInstanceOf(StoreResult.Duplicate.class, tier.store(entry));
            assertEquals(before, EntryFile.Identity.of(Invariants.entryFiles(directory).getFirst()));
        }
    }

    @Test
    @DisplayName("The catalogue lists every entry with its length, and reads it by its name; a damaged one stays for inspection")
    void catalogue() throws Exception {
        try (LocalTier tier = open()) {
            Entry entry = entries.entry(300);
            tier.store(entry);
            tier.store(entries.entry(400));
            List<Catalog.Listed> listed = new ArrayList<>();
            tier.list(listed::add);
            assertEquals(2, listed.size());
            assertEquals(tier.usedBytes(), listed.stream().mapToLong(Catalog.Listed::bytes).sum());
            Catalog.Listed mine = listed.stream().filter(l -> l.hash().equals(entry.id().hash())).findFirst().orElseThrow();
            assertEquals(TestEntries.TARGET.path(), mine.namespace());
            assertEquals(clock.millis(), mine.lastUsedMillis());
            assertHit(entry, tier.read(mine));
            Path file = directory.resolve("v1/" + mine.namespace() + "/e/" + mine.hash().hex().substring(0, 2) + "/" + mine.hash());
            Files.write(file, new byte[] {0});
            assertEquals(Damage.FOREIGN, assertInstanceOf(LoadResult.Damaged.class, tier.read(mine)).damage());
            assertTrue(Files.exists(file));
        }
    }

    @Test
    @DisplayName("T5 a namespace that leads out of the directory is absent")
    void pathTraversal() throws Exception {
        try (LocalTier tier = open()) {
            for (String namespace : List.of("../../etc", "opencl/../..", "/etc/x", "opencl/..", "opencl", "a/b/c", "")) {
                assertEquals(LoadResult.ABSENT, tier.read(new Catalog.Listed(namespace, Sha256.of(new byte[0]), 1, 0)), namespace);
            }
        }
    }

    @Test
    @DisplayName("T5 a symbolic link in an entry's place is not followed; the next store replaces it")
    void linkedEntry() throws Exception {
        try (LocalTier tier = open()) {
            Entry entry = entries.entry(300);
            tier.store(entry);
            Path file = Invariants.entryFiles(directory).getFirst();
            Path elsewhere = directory.resolve("elsewhere");
            Files.move(file, elsewhere);
            Files.createSymbolicLink(file, elsewhere);
            assertInstanceOf(LoadResult.Unavailable.class, tier.load(entry.id()));
            tier.store(entry);
            assertHit(entry, tier.load(entry.id()));
            assertTrue(Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS) && Files.exists(elsewhere));
            assertTrue(tier.sweepNow());
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
    @DisplayName("A hit's binaries lie outside the heap")
    void offHeap() throws Exception {
        try (LocalTier tier = open()) {
            Entry entry = entries.entry(3000);
            tier.store(entry);
            assertTrue(PersistentCacheContract.hit(tier.load(entry.id())).binaries().binary(0).isNative());
        }
    }

    @Test
    @DisplayName("E10 opening runs no work of its own: everything goes to the executor, and an idle one delays nothing")
    void openScansNothing() throws Exception {
        Entry entry = entries.entry(3000);
        try (LocalTier tier = open()) {
            tier.store(entry);
        }
        Files.delete(directory.resolve("v1/ledger"));
        Queue<Runnable> waiting = new ArrayDeque<>();
        try (LocalTier tier = LocalTier.open(LocalConfig.builder(directory).background(waiting::add).build())) {
            assertHit(entry, tier.load(entry.id()));
            assertInstanceOf(StoreResult.Stored.class, tier.store(entries.entry(100)));
            assertEquals(1, waiting.size());
            assertTrue(tier.usedBytes() < 3000, "not counted yet");
            waiting.remove().run();
            assertEquals(Invariants.entryBytes(directory), tier.usedBytes());
        }
    }

    @Test
    @DisplayName("K15 a name has a fixed length, whatever the id")
    void fixedNames() throws Exception {
        try (LocalTier tier = open()) {
            tier.store(TestEntries.entry(TestEntries.id("y".repeat(100_000) + "/../\n"), KernelBinaries.of(new byte[1])));
            assertEquals(64, Invariants.entryFiles(directory).getFirst().getFileName().toString().length());
        }
    }

    @Test
    @DisplayName("The configuration refuses a negative capacity, and has a default (E8)")
    void configuration() throws Exception {
        assertThrows(IllegalArgumentException.class, () -> LocalConfig.builder(directory).capacityBytes(-1).build());
        try (LocalTier tier = LocalTier.open(LocalConfig.builder(directory).build())) {
            assertEquals(LocalConfig.DEFAULT_CAPACITY_BYTES, tier.capacityBytes());
            assertEquals(directory.toAbsolutePath(), tier.directory());
            assertThrows(IllegalArgumentException.class, () -> tier.setCapacity(-1));
        }
    }
}
