package dev.granary.local;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.StoredEntry;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.cache.support.CheckResult;
import dev.granary.testing.InteractiveProcess;
import dev.granary.testing.SystemTool;
import dev.granary.testing.TestRuns;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Tests of a directory that machines share. */
@Timeout(300)
class SharedDirectoryTest {
    private static final int SIZE = 200_000;

    private final TestEntries entries = new TestEntries("SharedDirectoryTest");
    private final Path directory;
    private final SharedDirectory shared;

    SharedDirectoryTest(@TempDir Path temporary) {
        this.directory = temporary.resolve("new/shared");
        this.shared = new SharedDirectory(directory, true, TrustPolicy.OFF);
    }

    private SharedDirectory seed() {
        return new SharedDirectory(directory, false, TrustPolicy.OFF);
    }

    private StoredEntry only() throws IOException {
        List<StoredEntry> all = StoredEntry.in(directory);
        assertEquals(1, all.size());
        return all.getFirst();
    }

    @Test
    @DisplayName("Two machines see each other's entries at once; same content is stored once")
    void twoMachines() throws Exception {
        try (InteractiveProcess one = SharedDirectoryProcess.start(directory);
                InteractiveProcess other = SharedDirectoryProcess.start(directory)) {
            assertEquals("Absent", other.request("load mine " + SIZE));
            assertEquals("Stored", one.request("store mine " + SIZE));
            assertEquals("Hit", other.request("load mine " + SIZE));
            assertEquals("Duplicate", other.request("store mine " + SIZE));
            assertEquals("Stored", other.request("store yours " + SIZE));
            assertEquals("Hit", one.request("load yours " + SIZE));
            assertEquals(0, one.finish());
            assertEquals(0, other.finish());
        }
    }

    @Test
    @DisplayName("Kills of two machines during stores leave only whole entries")
    void kills() throws Exception {
        EntryFiles files = EntryFiles.shared(directory);
        for (int round = 0; round < TestRuns.count(2); round++) {
            try (InteractiveProcess one = SharedDirectoryProcess.start(directory);
                    InteractiveProcess other = SharedDirectoryProcess.start(directory)) {
                one.send("storing kill" + round + "- " + SIZE);
                other.send("storing kill" + round + "- " + SIZE); // the same entries
                for (int i = 0; i <= 10 * round; i++) {
                    one.answer();
                }
                other.answer();
                one.kill();
                other.kill();
            }
            List<EntryCatalog.Listed> listed = new ArrayList<>();
            files.list(listed::add);
            assertTrue(listed.size() > 10 * round, () -> listed.size() + " entries");
            for (EntryCatalog.Listed each : listed) {
                assertInstanceOf(LoadResult.Hit.class, files.read(each), each::toString);
            }
        }
    }

    @Test
    @DisplayName("A missing directory is a miss, is not created by loads, and is created by the"
            + " first store; one that disappears is a miss, and is created again")
    void missing() throws Exception {
        Entry entry = entries.entry(1000);
        assertEquals(LoadResult.ABSENT, shared.load(entry.id()));
        assertEquals(LoadResult.ABSENT, seed().load(entry.id()));
        shared.discard(entry);
        assertFalse(Files.exists(directory.getParent()));
        assertInstanceOf(StoreResult.Stored.class, shared.store(entry));
        assertThat(seed().load(entry.id())).isHitOf(entry);
        Files.move(directory, directory.resolveSibling("moved"));
        assertEquals(LoadResult.ABSENT, shared.load(entry.id()));
        assertInstanceOf(StoreResult.Stored.class, shared.store(entry));
        assertThat(shared.load(entry.id())).isHitOf(entry);
    }

    @ParameterizedTest
    @ValueSource(strings = {"pipe", "file"})
    @Timeout(60) // opening a pipe blocks
    @DisplayName("A check says that a pipe or a file is not a directory")
    void noDirectory(String kind) throws Exception {
        Files.createDirectories(directory.getParent());
        if (kind.equals("pipe")) {
            Assumptions.assumeTrue(SystemTool.run("mkfifo", directory.toString()), "no mkfifo");
        } else {
            Files.createFile(directory);
        }
        for (SharedDirectory each : List.of(shared, seed())) {
            assertEquals(Optional.empty(), each.silence());
            CheckResult.Problem problem =
                    assertInstanceOf(CheckResult.Problem.class, each.check(false));
            assertTrue(problem.cause().contains("is not a directory"), problem::cause);
        }
    }

    @Test
    @DisplayName("A damaged entry is a miss; a writable layer removes it, a read-only one does not")
    void damaged() throws Exception {
        Entry entry = entries.entry(1000);
        shared.store(entry);
        byte[] whole = only().bytes();
        whole[whole.length - 1] ^= 1;
        only().overwrite(whole);
        assertInstanceOf(LoadResult.Damaged.class, seed().load(entry.id()));
        assertInstanceOf(LoadResult.Damaged.class, seed().load(entry.id()), "it is still there");
        assertInstanceOf(LoadResult.Damaged.class, shared.load(entry.id()));
        assertEquals(LoadResult.ABSENT, shared.load(entry.id()));
    }

    @Test
    @DisplayName("A read-only layer stores and discards nothing")
    void readOnlyLayer() throws Exception {
        Entry entry = entries.entry(1000);
        assertInstanceOf(StoreResult.Refused.class, seed().store(entry));
        assertFalse(Files.exists(directory));
        shared.store(entry);
        seed().discard(entry);
        assertThat(seed().load(entry.id())).isHitOf(entry);
    }

    @Test
    @DisplayName("A directory without the right to write is read; stores and removals have no"
            + " effect, and the check says so")
    void withoutRightToWrite() throws Exception {
        Entry entry = entries.entry(1000);
        shared.store(entry);
        List<Path> all;
        try (var files = Files.walk(directory)) {
            all = files.filter(Files::isDirectory).toList();
        }
        for (Path each : all) {
            Files.setPosixFilePermissions(each, PosixFilePermissions.fromString("r-xr-xr-x"));
        }
        Assumptions.assumeFalse(Files.isWritable(directory), "root may write everywhere");
        try {
            assertThat(shared.load(entry.id())).isHitOf(entry);
            shared.discard(entry);
            assertThat(shared.load(entry.id())).isHitOf(entry);
            assertInstanceOf(StoreResult.Refused.class, shared.store(entries.entry(10)));
            assertInstanceOf(CheckResult.Problem.class, shared.check(true));
            assertInstanceOf(CheckResult.Problem.class, shared.check(false));
            assertInstanceOf(CheckResult.Sound.class, seed().check(false));
        } finally {
            for (Path each : all) {
                Files.setPosixFilePermissions(each, PosixFilePermissions.fromString("rwxr-xr-x"));
            }
        }
    }

    @Test
    @DisplayName("Foreign files remain and are no entries; a check writes and leaves nothing")
    void foreignFiles() throws Exception {
        Entry entry = entries.entry(1000);
        shared.store(entry);
        Path beside = Files.writeString(only().file().resolveSibling("README"), "text");
        Path above = Files.writeString(directory.resolve("kernels.toml"), "text");
        assertThat(shared.load(entry.id())).isHitOf(entry);
        List<EntryCatalog.Listed> listed = new ArrayList<>();
        EntryFiles.shared(directory).list(listed::add);
        assertEquals(1, listed.size());
        List<Path> before = tree();
        assertInstanceOf(CheckResult.Sound.class, shared.check(false));
        assertEquals(before, tree());
        assertTrue(before.containsAll(List.of(beside, above)));
    }

    @Test
    @DisplayName("A hit sets the time of the file once a day, a publication of the same content"
            + " always; a read-only layer leaves no trace")
    void lastUse() throws Exception {
        TestClock clock = new TestClock();
        SharedDirectory here = new SharedDirectory(directory, true, TrustPolicy.OFF, clock);
        Entry entry = entries.entry(1000);
        here.store(entry);
        Path file = only().file();
        Files.setLastModifiedTime(file, FileTime.from(clock.instant()));
        FileTime first = Files.getLastModifiedTime(file);
        clock.advance(Duration.ofHours(23));
        assertThat(here.load(entry.id())).isHitOf(entry);
        assertEquals(first, Files.getLastModifiedTime(file), "within a day");
        assertEquals(StoreResult.DUPLICATE, here.store(entry));
        assertEquals(clock.millis(), Files.getLastModifiedTime(file).toMillis());
        clock.advance(Duration.ofHours(25));
        SharedDirectory seed = new SharedDirectory(directory, false, TrustPolicy.OFF, clock);
        assertThat(seed.load(entry.id())).isHitOf(entry);
        assertFalse(clock.millis() == Files.getLastModifiedTime(file).toMillis());
        assertThat(here.load(entry.id())).isHitOf(entry);
        assertEquals(clock.millis(), Files.getLastModifiedTime(file).toMillis());
        clock.advance(Duration.ofDays(-400)); // the clock of another machine was ahead
        assertThat(here.load(entry.id())).isHitOf(entry);
        assertEquals(clock.millis(), Files.getLastModifiedTime(file).toMillis());
    }

    private List<Path> tree() throws IOException {
        try (var files = Files.walk(directory)) {
            return files.sorted().toList();
        }
    }

    @Test
    @DisplayName("A check of a missing directory succeeds if the first store can create it")
    void checkOfMissing() throws Exception {
        assertInstanceOf(CheckResult.Sound.class, shared.check(false));
        assertInstanceOf(CheckResult.Problem.class, seed().check(false));
        Files.createDirectories(directory.getParent());
        Files.writeString(directory, "in the way");
        assertInstanceOf(CheckResult.Problem.class, shared.check(true));
        assertInstanceOf(LoadResult.Absent.class, shared.load(entries.entry(10).id()));
        assertInstanceOf(StoreResult.Failed.class, shared.store(entries.entry(10)));
    }

    @Test
    @DisplayName(
            "New files have the permissions that the umask leaves, for machines of other users")
    void permissions() throws Exception {
        Path ordinary = Files.writeString(
                Files.createDirectories(directory).resolveSibling("ordinary"), "text");
        shared.store(entries.entry(1000));
        assertEquals(
                Files.getPosixFilePermissions(ordinary),
                Files.getPosixFilePermissions(only().file()));
        assertEquals(
                Files.getPosixFilePermissions(directory),
                Files.getPosixFilePermissions(directory.resolve("v3")));
    }
}
