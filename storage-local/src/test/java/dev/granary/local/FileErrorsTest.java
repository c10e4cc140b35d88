package dev.granary.local;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.support.FileTrees;
import dev.granary.local.claim.ClaimResult;
import dev.granary.local.claim.LocalClaims;
import dev.granary.local.config.LocalDirectoryException;
import dev.granary.local.config.LocalTierConfig;
import dev.granary.local.directory.BootId;
import dev.granary.local.eviction.CapacityEnforcer;
import dev.granary.local.file.StatePage;
import dev.granary.local.file.StoreStep;
import dev.granary.testing.Await;
import dev.granary.testing.SystemTool;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Tests of files that the system does not show for a while, and of other objects in their places.
 */
@Timeout(600)
final class FileErrorsTest {
    private static final int COUNT = 40;
    private static final int SIZE = 60_000; // spreads the entries over several segments
    private static final long CAPACITY = 16 << 20;
    private static final int NOBODY = 65534;

    private final TestEntries entries = new TestEntries("FileErrorsTest");

    @TempDir
    private Path temporary;

    private Path directory() {
        return temporary.resolve("cache");
    }

    private LocalTier open() throws LocalDirectoryException {
        return LocalTier.open(LocalTierConfig.builder(directory())
                .capacityBytes(CAPACITY)
                .background(Runnable::run)
                .build());
    }

    private List<Entry> fill() throws LocalDirectoryException {
        List<Entry> all = new ArrayList<>();
        try (LocalTier tier = open()) {
            for (int i = 0; i < COUNT; i++) {
                all.add(entries.entry(SIZE));
                assertThat(tier.store(all.get(i))).isStored();
            }
        }
        return all;
    }

    /** Fault that makes a directory unreadable. */
    enum Fault {
        /** Its name is a link to itself: an error for root as well. */
        LOOP,
        /** Its mode denies access to users without privileges. */
        PERMISSION
    }

    private void during(Fault fault, Path hidden, Action action) throws Exception {
        switch (fault) {
            case LOOP -> {
                Path away = hidden.resolveSibling("away");
                Files.move(hidden, away);
                Files.createSymbolicLink(hidden, hidden.getFileName());
                try {
                    action.run();
                } finally {
                    Files.delete(hidden);
                    Files.move(away, hidden);
                }
            }
            case PERMISSION -> {
                for (Path path = hidden.getParent();
                        path != null && !path.equals(temporary.getParent());
                        path = path.getParent()) {
                    Files.setPosixFilePermissions(
                            path, PosixFilePermissions.fromString("rwx--x--x"));
                }
                Files.setPosixFilePermissions(hidden, PosixFilePermissions.fromString("---------"));
                try (FileUser _ = FileUser.unprivileged()) {
                    assertThrows(IOException.class, () -> list(hidden));
                    action.run();
                } finally {
                    Files.setPosixFilePermissions(
                            hidden, PosixFilePermissions.fromString("rwx------"));
                }
            }
        }
    }

    private static long list(Path path) throws IOException {
        try (Stream<Path> all = Files.list(path)) {
            return all.count();
        }
    }

    private interface Action {
        void run() throws Exception;
    }

    /**
     * Makes this thread, and those that it starts, access files as a user to whom permissions
     * apply; only root needs it. Linux.
     */
    private static final class FileUser implements AutoCloseable {
        private static final boolean IS_ROOT = "root".equals(System.getProperty("user.name"));

        private final Set<Thread> before = threads();

        static FileUser unprivileged() {
            assumeTrue(
                    !IS_ROOT || System.getProperty("os.name").equals("Linux"),
                    "as root, permissions bind on Linux only");
            FileUser user = new FileUser();
            set(NOBODY);
            return user;
        }

        private static void set(int user) {
            if (IS_ROOT) {
                Linker linker = Linker.nativeLinker();
                MethodHandle call = linker.downcallHandle(
                        linker.defaultLookup().find("setfsuid").orElseThrow(),
                        FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));
                try {
                    int _ = (int) call.invokeExact(user);
                } catch (Throwable e) {
                    throw new IllegalStateException(e);
                }
            }
        }

        /** Ends the change, and waits for the end of threads that were started with it. */
        @Override
        public void close() {
            set(0);
            Set<Thread> started = threads();
            started.removeAll(before);
            Await.holds(() -> started.stream().noneMatch(Thread::isAlive));
        }

        /** Returns the threads that open files; each ends after it was idle for 1 s. */
        private static Set<Thread> threads() {
            Set<Thread> threads = new HashSet<>(Thread.getAllStackTraces().keySet());
            threads.removeIf(thread -> !thread.getName().equals("granary-local-files"));
            return threads;
        }
    }

    @ParameterizedTest
    @CsvSource({"LOOP, segments", "PERMISSION, segments", "LOOP, .", "PERMISSION, ."})
    @DisplayName(
            "L7 files hidden for a while are not lost: lookups fail meanwhile, remove nothing, and"
                    + " hit afterwards")
    void passingError(Fault fault, String hidden) throws Exception {
        List<Entry> all = fill();
        // loads the classes that the failure needs: the restricted thread cannot read libraries
        if (fault == Fault.PERMISSION) {
            passing(Fault.LOOP, directory().resolve("v2").resolve(hidden).normalize(), all);
        }
        passing(fault, directory().resolve("v2").resolve(hidden).normalize(), all);
        StoreInvariants.check(directory());
    }

    private void passing(Fault fault, Path hidden, List<Entry> all) throws Exception {
        try (LocalTier tier = open()) {
            long used = tier.usedBytes(); // the state page is open, no segment is
            assertTrue(used > (long) COUNT * SIZE);
            during(fault, hidden, () -> {
                for (Entry entry : all) {
                    assertThat(tier.load(entry.id())).isUnavailable();
                }
                assertThat(failedOrRefused(tier.store(entries.entry(100)))).isFailed();
                assertThrows(IOException.class, () -> tier.list(_ -> {}));
                boolean _ = tier.sweepNow();
                tier.reclaim();
            });
            assertEquals(used, tier.usedBytes());
            for (Entry entry : all) {
                assertThat(tier.load(entry.id())).isHitOf(entry);
            }
            Entry late = entries.entry(100);
            assertThat(tier.store(late)).isStored();
            tier.discard(late);
        }
    }

    @Test
    @DisplayName("L7 a store that is hidden at the first lookup is not taken for an empty one")
    void hiddenFromTheStart() throws Exception {
        List<Entry> all = fill();
        try (LocalTier tier = open()) {
            during(Fault.LOOP, directory().resolve("v2"), () -> {
                assertThat(tier.load(all.getFirst().id())).isUnavailable();
                assertThrows(IOException.class, () -> tier.list(_ -> {}));
                assertThrows(IOException.class, tier::usage);
                assertThat(tier.store(entries.entry(100))).isFailed();
            });
            assertThat(tier.load(all.getFirst().id())).isHitOf(all.getFirst());
        }
        StoreInvariants.check(directory());
    }

    @ParameterizedTest
    @EnumSource(Fault.class)
    @DisplayName("L7 segments that cannot be listed at the first change after a boot are not lost")
    void restartWithoutListing(Fault fault) throws Exception {
        List<Entry> all = fill();
        long boot = BootId.mark();
        // the second time all classes are loaded
        for (Fault each : fault == Fault.LOOP ? List.of(fault) : List.of(Fault.LOOP, fault)) {
            LocalTierConfig config = LocalTierConfig.builder(directory())
                    .capacityBytes(CAPACITY)
                    .background(Runnable::run)
                    .build();
            try (LocalTier tier =
                    LocalTier.open(config, ++boot, id -> id.hash(), StoreStep.Listener.NONE)) {
                // the index is open
                assertThat(tier.load(entries.entry(100).id())).isAbsent();
                during(each, directory().resolve("v2/segments"), () -> assertThat(
                                failedOrRefused(tier.store(entries.entry(100))))
                        .isFailed());
                Entry late = entries.entry(100);
                assertThat(tier.store(late)).isStored();
                tier.discard(late);
                for (Entry entry : all) {
                    assertThat(tier.load(entry.id())).isHitOf(entry);
                }
            }
        }
        StoreInvariants.check(directory());
    }

    @Test
    @DisplayName("E3 L7 segments that cannot be written or read do not end a sweep: usage stays"
            + " within 1/4 above the capacity, and no store fails")
    void fewUnwritableSegments() throws Exception {
        duringUnwritable(List.of("r--r--r--", "---------"), CAPACITY, tier -> {
            long errors = tier.statistics().inputOutputErrors();
            for (int i = 0; i < CAPACITY / SIZE * 3 / 2; i++) {
                assertThat(tier.store(entries.entry(SIZE))).isStored();
                assertTrue(
                        tier.diskBytes() <= CAPACITY + CAPACITY / 4, () -> "" + tier.diskBytes());
            }
            assertTrue(tier.statistics().inputOutputErrors() > errors);
        });
    }

    @Test
    @DisplayName("E3 L7 stores fail if segments that cannot be written keep usage 1/4 above the"
            + " capacity, with a segment as the reason, until they can be written again")
    void manyUnwritableSegments() throws Exception {
        duringUnwritable(List.of("r--r--r--", "r--r--r--"), 1 << 20, tier -> {
            long errors = tier.statistics().inputOutputErrors();
            for (int i = 0; i < COUNT; i++) {
                assertTrue(assertThat(tier.store(entries.entry(SIZE)))
                        .isFailed()
                        .contains("v2/segments/"));
            }
            assertTrue(tier.statistics().inputOutputErrors() >= errors + COUNT);
        });
    }

    /**
     * Runs {@code action} while the first segments have these modes; afterwards stores must work,
     * within the capacity.
     */
    private void duringUnwritable(List<String> modes, long capacity, TierAction action)
            throws Exception {
        fill();
        LocalTierConfig config = LocalTierConfig.builder(directory())
                .capacityBytes(capacity)
                .background(Runnable::run)
                .build();
        List<Path> segments = StoreInvariants.segmentFiles(directory());
        assertTrue(segments.size() > modes.size(), segments::toString);
        try (LocalTier tier = LocalTier.open(config)) {
            // loads the classes that the failure needs: the restricted thread cannot read libraries
            during(Fault.LOOP, directory().resolve("v2/segments"), () -> {
                boolean _ = tier.sweepNow();
            });
            Class.forName(CapacityEnforcer.class.getName() + "$FullException");
            try (Stream<Path> all = Files.walk(directory())) {
                for (Path path : all.toList()) {
                    permit(path, Files.isDirectory(path) ? "rwxrwxrwx" : "rw-rw-rw-");
                }
            }
            permit(temporary, "rwx--x--x");
            for (int i = 0; i < modes.size(); i++) {
                permit(segments.get(i), modes.get(i));
            }
            // a thread from before would create segments that only root can write
            Await.holds(() -> FileUser.threads().isEmpty());
            try (FileUser _ = FileUser.unprivileged()) {
                assertThrows(IOException.class, () -> Files.newByteChannel(
                                segments.getFirst(), StandardOpenOption.WRITE)
                        .close());
                action.run(tier);
            }
            for (Path each : segments.subList(0, modes.size())) {
                permit(each, "rw-rw-rw-");
            }
            Entry late = entries.entry(SIZE);
            assertThat(tier.store(late)).isStored();
            assertThat(tier.load(late.id())).isHitOf(late);
            assertTrue(tier.sweepNow());
            assertTrue(tier.diskBytes() <= capacity, () -> "" + tier.diskBytes());
        }
        permit(directory(), "rwx------");
        permit(directory().resolve("v2"), "rwx------");
        StoreInvariants.check(directory());
    }

    private interface TierAction {
        void run(LocalTier tier) throws Exception;
    }

    private static void permit(Path path, String mode) throws IOException {
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(mode));
    }

    /** Maps {@code Refused} to {@code Failed}: a directory without permission looks read-only. */
    private static StoreResult failedOrRefused(StoreResult result) {
        return result instanceof StoreResult.Refused refused
                ? new StoreResult.Failed(refused.reason())
                : result;
    }

    @ParameterizedTest
    @ValueSource(strings = {"v2/state", "v2/segments", "v2", "claims"})
    @DisplayName(
            "F10 a pipe or another object in a file's place is refused at once, with its name as"
                    + " the reason; removing it helps")
    void noFile(String name) throws Exception {
        Entry kept = entries.entry(100);
        for (String kind : List.of("pipe", "link", "directory", "device")) {
            Path path = directory().resolve(name);
            boolean isDirectory = name.equals("v2") || name.equals("v2/segments");
            if (kind.equals("directory") && isDirectory) {
                continue;
            }
            FileTrees.delete(directory());
            try (LocalTier tier = open()) {
                assertThat(tier.store(kept)).isStored();
            }
            if (Files.exists(path)) {
                FileTrees.delete(path);
            }
            make(kind, path);
            try (LocalTier tier = open();
                    LocalClaims claims = LocalClaims.open(directory())) {
                if (name.equals("claims")) {
                    ClaimResult.Unavailable result = assertInstanceOf(
                            ClaimResult.Unavailable.class, claims.claim(kept.id()), kind);
                    assertTrue(result.reason().contains("claims"), result.reason());
                } else {
                    LoadResult read = tier.load(kept.id());
                    if (!(isDirectory && read.equals(LoadResult.ABSENT))) {
                        assertTrue(
                                assertThat(read).as(kind).isUnavailable().contains(name),
                                read::toString);
                    }
                    StoreResult stored = tier.store(kept);
                    assertTrue(
                            assertThat(stored).as(kind).isFailed().contains(name),
                            stored::toString);
                    if (!(isDirectory && read.equals(LoadResult.ABSENT))) {
                        assertThrows(IOException.class, () -> tier.list(_ -> {}), kind);
                        assertThrows(IOException.class, tier::usage, kind);
                    }
                    assertEquals(0, tier.usedBytes(), kind);
                    assertEquals(0, tier.diskBytes(), kind);
                    tier.discard(kept);
                    tier.clear();
                    tier.setCapacity(0);
                    tier.reclaim();
                    assertTrue(
                            tier.statistics().inputOutputErrors() <= 20,
                            kind + ": something that waited in vain tried again and again");
                    tier.setCapacity(CAPACITY);
                }
                Files.delete(path);
                if (name.equals("claims")) {
                    assertInstanceOf(ClaimResult.Mine.class, claims.claim(kept.id()), kind);
                } else {
                    assertThat(tier.store(kept)).as(kind).isStored();
                    assertThat(tier.load(kept.id())).isHitOf(kept);
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"pipe", "link", "directory", "device"})
    @DisplayName("F10 an object other than a file in the place of an index or a segment counts as"
            + " missing: lookups miss, the next store works")
    void noIndexNoSegment(String kind) throws Exception {
        for (String name : List.of("v2/index-1", "v2/segments/1")) {
            FileTrees.delete(directory());
            List<Entry> all = fill();
            Path path = directory().resolve(name);
            Files.delete(path);
            make(kind, path);
            try (LocalTier tier = open()) {
                readAll(tier);
                LoadResult result = tier.load(all.getFirst().id());
                assertThat(result).isOneOf(LoadResult.Damaged.class, LoadResult.Unavailable.class);
                assertThat(tier.store(all.getFirst())).isStored();
                assertThat(tier.load(all.getFirst().id())).isHitOf(all.getFirst());
                tier.clear();
                assertEquals(0, tier.usedBytes());
            }
        }
    }

    /**
     * Checks that neither operation blocks on an object that is no file; each may report that it
     * cannot read it.
     */
    private static void readAll(LocalTier tier) {
        try {
            tier.list(listed -> {
                boolean _ = tier.read(listed) instanceof LoadResult.Hit;
            });
            long _ = tier.usage().entries();
        } catch (IOException e) {
            assertTrue(e.toString().contains("not a file"), e::toString);
        }
    }

    @Test
    @DisplayName("F10 a read-only user of a directory refuses objects other than files as well")
    void readOnly() throws Exception {
        Path pipe = temporary.resolve("state");
        make("pipe", pipe);
        assertTrue(assertThrows(IOException.class, () -> StatePage.openForReading(pipe))
                .toString()
                .contains("not a file"));
        assertTrue(assertThrows(IOException.class, () -> StatePage.openForWriting(pipe))
                .toString()
                .contains("not a file"));
    }

    private static void make(String kind, Path path) throws Exception {
        switch (kind) {
            case "pipe" -> tool("mkfifo", path.toString());
            case "link" -> Files.createSymbolicLink(path, Path.of("nowhere"));
            case "directory" -> Files.createDirectory(path);
            default -> {
                assumeTrue(
                        "root".equals(System.getProperty("user.name")),
                        "making a device needs root");
                tool("mknod", path.toString(), "c", "1", "5"); // an endless stream of zeros
            }
        }
    }

    private static void tool(String... command) throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin", command[0])), "no " + command[0]);
        assumeTrue(SystemTool.run(command), "this machine does not allow " + command[0]);
    }
}
