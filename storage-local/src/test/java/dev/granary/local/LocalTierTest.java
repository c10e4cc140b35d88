package dev.granary.local;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.support.FileTrees;
import dev.granary.testing.SystemTool;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;

/**
 * Tests of the local tier beyond the contract: replacing, removing, listing, foreign files, copied
 * entries.
 */
final class LocalTierTest {
    private final TestEntries entries = new TestEntries("LocalTierTest");
    private final TestClock clock = new TestClock();

    @TempDir
    private Path directory;

    private LocalTierConfig config() {
        return LocalTierConfig.builder(directory)
                .clock(clock)
                .background(Runnable::run)
                .build();
    }

    private LocalTier open() throws LocalDirectoryException {
        return LocalTier.open(config());
    }

    @AfterEach
    void invariants() throws IOException, LocalDirectoryException {
        StoreInvariants.check(directory);
    }

    @Test
    @DisplayName("other content replaces an entry, and survives a reopening; clear leaves nothing")
    void replaceAndClear() throws Exception {
        Entry first = entries.entry(100);
        Entry second = entries.entry(first.id(), 5000);
        try (LocalTier tier = open()) {
            tier.store(first);
            assertThat(tier.store(second)).isStored();
            assertEquals(1, StoreInvariants.listed(tier).size());
        }
        try (LocalTier tier = open()) {
            assertThat(tier.load(second.id())).isHitOf(second);
            tier.store(entries.entry(10));
            tier.clear();
            assertThat(tier.load(second.id())).isAbsent();
            assertEquals(0, tier.usage().diskBytes());
            assertThat(tier.store(second)).isStored();
            assertThat(tier.load(second.id())).isHitOf(second);
        }
    }

    @Test
    @DisplayName("discard removes the content that was read; remove removes the listed entry")
    void discardAndRemove() throws Exception {
        try (LocalTier tier = open()) {
            Entry entry = entries.entry(500);
            Entry other = entries.entry(600);
            tier.store(entry);
            tier.store(other);
            tier.discard(entry);
            assertThat(tier.load(entry.id())).isAbsent();
            EntryCatalog.Listed listed = StoreInvariants.listed(tier).getFirst();
            EntryFiles files = EntryFiles.in(tier.directory());
            assertTrue(files.remove(listed));
            assertFalse(files.remove(listed));
            assertThat(tier.load(other.id())).isAbsent();
            Entry newer = entries.entry(entry.id(), 700);
            tier.store(entry);
            EntryCatalog.Listed older = StoreInvariants.listed(tier).getFirst();
            clock.advance(Duration.ofSeconds(1));
            tier.store(newer);
            assertFalse(files.remove(older));
            tier.discard(entry);
            assertThat(tier.load(newer.id())).isHitOf(newer);
        }
    }

    @Test
    @DisplayName("an entry that replaces a damaged one while that is removed stays, and one that"
            + " proves sound is put back")
    void replacedWhileRemoved() throws Exception {
        Entry first = entries.entry(500);
        Entry newer = entries.entry(first.id(), 700);
        try (LocalTier writer = open()) {
            writer.store(first);
            Path file = StoreInvariants.file(directory, first.id());
            byte[] sound = Files.readAllBytes(file);
            for (boolean isReplaced : new boolean[] {true, false}) {
                Files.write(file, new byte[] {1});
                boolean[] wasAside = {false};
                StoreStep.Listener replacing = step -> {
                    if (step == StoreStep.SET_ASIDE && isReplaced) {
                        wasAside[0] = true;
                        writer.store(newer);
                    }
                };
                try (LocalTier tier = LocalTier.open(config(), replacing, bound -> bound - 1)) {
                    assertThat(tier.load(first.id())).isDamaged();
                    assertEquals(isReplaced, wasAside[0]);
                }
                if (isReplaced) {
                    assertThat(writer.load(newer.id())).isHitOf(newer);
                } else {
                    assertThat(writer.load(newer.id())).isAbsent();
                    assertThat(writer.store(first)).isStored();
                }
            }
            EntryFiles files = new EntryFiles(directory, StoreStep.Listener.NONE);
            assertFalse(files.removeIf(file, _ -> false), "it was put back");
            assertEquals(ByteBuffer.wrap(sound), ByteBuffer.wrap(Files.readAllBytes(file)));
            assertFalse(files.removeIf(file, aside -> {
                writer.store(newer);
                return false;
            }));
            assertThat(writer.load(newer.id())).isHitOf(newer);
        }
    }

    @Test
    @DisplayName("directories removed under an open tier are created by the next store; foreign"
            + " files stay and do not count")
    void removedDirectories() throws Exception {
        Path foreign = directory.resolve("outbox/queued.bin");
        Files.createDirectories(foreign.getParent());
        Files.writeString(foreign, "not ours");
        try (LocalTier tier = open()) {
            Entry entry = entries.entry(500);
            tier.store(entry);
            Path place = StoreInvariants.file(directory, entry.id());
            Path among = Files.writeString(place.resolveSibling("README"), "foreign");
            Path stray = Files.writeString(directory.resolve("v3/stray"), "foreign");
            Path wrong = Files.copy(place, directory.resolve("v3").resolve(place.getFileName()));
            assertTrue(tier.enforceCapacity());
            assertEquals(Set.of(stray, among, wrong), Set.copyOf(tier.usage().foreign()));
            assertThat(tier.load(entry.id())).isHitOf(entry);
            tier.clear();
            assertTrue(Files.exists(among) && Files.exists(stray) && Files.exists(wrong));
            Files.delete(wrong);
            tier.store(entry);
            FileTrees.delete(directory.resolve("v3"));
            Entry next = entries.entry(600);
            assertThat(tier.store(next)).isStored();
            assertThat(tier.load(next.id())).isHitOf(next);
            assertThat(tier.load(entry.id())).isAbsent();
            FileTrees.delete(directory);
            assertThat(tier.store(entry)).isStored();
            assertThat(tier.load(entry.id())).isHitOf(entry);
            assertEquals(
                    "rwx------",
                    PosixFilePermissions.toString(Files.getPosixFilePermissions(directory)));
        }
        try (LocalTier tier = open()) {
            Entry next = entries.entry(600);
            assertThat(tier.store(next)).isStored();
            assertThat(tier.load(next.id())).isHitOf(next);
        }
    }

    @Test
    @DisplayName("a duplicate writes nothing")
    void duplicateWritesNothing() throws Exception {
        try (LocalTier tier = open()) {
            Entry entry = entries.entry(500);
            tier.store(entry);
            Path file = StoreInvariants.file(directory, entry.id());
            Object before = Files.readAttributes(file, "unix:ino,lastModifiedTime");
            assertThat(tier.store(entry)).isDuplicate();
            assertEquals(before, Files.readAttributes(file, "unix:ino,lastModifiedTime"));
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
            assertEquals(mine.lastUsedMillis(), lastUse(tier, mine), "too soon to be recorded");
            clock.advance(Duration.ofMinutes(10));
            assertThat(tier.load(entry.id())).isHitOf(entry);
            assertEquals(clock.millis(), lastUse(tier, mine), "listing shows uses at once");
        }
    }

    private static long lastUse(LocalTier tier, EntryCatalog.Listed entry) throws IOException {
        return StoreInvariants.listed(tier).stream()
                .filter(each -> each.hash().equals(entry.hash()))
                .findFirst()
                .orElseThrow()
                .lastUsedMillis();
    }

    @Test
    @DisplayName("a namespace that leads out of the directory matches no entry")
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
    @DisplayName("An interrupted thread loads and stores like any other, and stays interrupted")
    void interrupted() throws Exception {
        try (LocalTier tier = open()) {
            Entry entry = entries.entry(3000);
            Thread.currentThread().interrupt();
            assertThat(tier.store(entry)).isStored();
            assertTrue(Thread.currentThread().isInterrupted());
            LoadResult loaded = tier.load(entry.id());
            assertTrue(tier.usage().entryBytes() > 3000);
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
                    .segments()
                    .getFirst()
                    .isNative());
            MemorySegment inArena;
            try (Arena memory = Arena.ofConfined()) {
                LoadResult loaded = tier.load(entry.id(), memory);
                assertThat(loaded).isHitOf(entry);
                inArena = assertThat(loaded).isHit().binaries().segments().getFirst();
                assertTrue(inArena.isNative());
            }
            assertThrows(IllegalStateException.class, () -> inArena.get(ValueLayout.JAVA_BYTE, 0));
        }
    }

    @Test
    @DisplayName("opening and lookups start no background work, whatever the state of the store")
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
    @DisplayName("The configuration refuses a negative capacity, and has a default")
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

    @ParameterizedTest
    @ValueSource(strings = {"cp -p", "cp", "rsync -a"})
    @DisplayName("entries that another program copies in hit, and are evicted like others")
    void copied(String tool) throws Exception {
        Path other = Files.createDirectory(directory.resolve("other"));
        List<Entry> all = List.of(entries.entry(300), entries.entry(70_000), entries.entry(0));
        try (LocalTier source = LocalTier.open(LocalTierConfig.builder(Files.createDirectory(
                                other.resolve("cache"), DirectoryValidator.privateDirectory(other)))
                        .build());
                LocalTier tier = open()) {
            all.forEach(source::store);
            List<String> command = new ArrayList<>(List.of(tool.split(" ")));
            command.addAll(tool.startsWith("cp") ? List.of("-r") : List.of());
            command.add(other.resolve("cache/v3").toString());
            command.add(directory + "/");
            assumeTrue(SystemTool.run(command.toArray(String[]::new)), "no " + tool);
            for (Entry entry : all) {
                assertThat(tier.load(entry.id())).isHitOf(entry);
                assertThat(tier.store(entry)).isDuplicate();
            }
            assertEquals(all.size(), tier.usage().entries());
            tier.setCapacity(1);
            assertEquals(0, tier.usage().entries());
        }
    }

    @Test
    @DisplayName("The tree of the former layout is reported and ignored; a sweep removes it after a"
            + " day without use")
    void formerTree() throws Exception {
        Path former = Files.createDirectories(directory.resolve("v2/segments"));
        Path state = Files.writeString(directory.resolve("v2/state"), "used at times");
        for (Path each : List.of(former, former.getParent(), state)) {
            Files.setLastModifiedTime(each, FileTime.from(clock.instant()));
        }
        try (LocalTier tier = open()) {
            assertTrue(tier.usage().hasFormerTree());
            assertEquals(List.of(), tier.usage().foreign());
            clock.advance(Duration.ofDays(2));
            Files.setLastModifiedTime(state, FileTime.from(clock.instant()));
            clock.advance(Duration.ofHours(23));
            assertTrue(tier.enforceCapacity());
            assertTrue(tier.usage().hasFormerTree());
            clock.advance(Duration.ofHours(2));
            Path precious = Files.writeString(former.resolveSibling("thesis.tex"), "mine");
            Path entry = Files.writeString(former.resolve("1f"), "a segment");
            for (Path each : List.of(former, former.getParent(), precious, entry)) {
                Files.setLastModifiedTime(each, FileTime.from(clock.instant()));
            }
            clock.advance(Duration.ofHours(25));
            assertTrue(tier.enforceCapacity());
            assertFalse(tier.usage().hasFormerTree());
            assertFalse(Files.exists(former));
            assertEquals("mine", Files.readString(precious));
            assertEquals(1, tier.inputOutputErrors(), "v2 is not empty");
            Files.delete(precious);
            Files.createDirectories(former);
            Files.writeString(state, "again");
            for (Path each : List.of(former, former.getParent(), state)) {
                Files.setLastModifiedTime(each, FileTime.from(clock.instant()));
            }
            clock.advance(Duration.ofHours(25));
            tier.clear();
            assertFalse(Files.exists(former.getParent()));
        }
    }
}
