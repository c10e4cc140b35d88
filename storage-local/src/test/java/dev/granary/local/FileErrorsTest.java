package dev.granary.local;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.support.FileTrees;
import dev.granary.testing.InteractiveProcess;
import dev.granary.testing.SystemTool;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;

/** Tests of errors of the file system, and of objects other than files. */
@Timeout(120)
final class FileErrorsTest {
    private static final int NOBODY = 65_534;
    private static final int SIZE = 20_000;
    private static final int COUNT = 20;

    private final TestEntries entries = new TestEntries("FileErrorsTest");

    @TempDir
    private Path temporary;

    private Path directory() {
        return temporary.resolve("cache");
    }

    private LocalTier open() throws LocalDirectoryException {
        return LocalTier.open(
                LocalTierConfig.builder(directory()).background(Runnable::run).build());
    }

    private List<Entry> fill(LocalTier tier) {
        List<Entry> all = new ArrayList<>();
        for (int i = 0; i < COUNT; i++) {
            all.add(entries.entry(SIZE));
            assertThat(tier.store(all.get(i))).isStored();
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

    private interface Action {
        void run() throws Exception;
    }

    private void during(Fault fault, Path hidden, Action action) throws Exception {
        switch (fault) {
            case LOOP -> {
                Path away = temporary.resolve("away");
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
                setFileUser(NOBODY);
                try {
                    assertThrows(IOException.class, () -> list(hidden));
                    action.run();
                } finally {
                    setFileUser(0);
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

    /** Makes this thread access files as another user, to whom permissions apply, if it is root. */
    private static void setFileUser(int user) {
        if (!"root".equals(System.getProperty("user.name"))) {
            return;
        }
        assumeTrue(
                System.getProperty("os.name").equals("Linux"),
                "as root, permissions bind on Linux only");
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

    @ParameterizedTest
    @CsvSource({"LOOP, v3", "PERMISSION, v3", "LOOP, v3/opencl", "PERMISSION, v3/opencl"})
    @DisplayName(
            "files hidden for a while are not lost: lookups fail meanwhile, remove nothing, and"
                    + " hit afterwards")
    void passingError(Fault fault, String hidden) throws Exception {
        try (LocalTier tier = open()) {
            List<Entry> all = fill(tier);
            assertTrue(Files.isDirectory(directory().resolve(hidden)), "the test hides nothing");
            // first as root: the restricted thread cannot read the classes that a failure needs
            for (Fault each : List.of(Fault.LOOP, fault)) {
                during(each, directory().resolve(hidden), () -> {
                    for (Entry entry : all) {
                        assertThat(tier.load(entry.id())).isUnavailable();
                    }
                    assertThat(tier.store(entries.entry(100)))
                            .isOneOf(StoreResult.Failed.class, StoreResult.Refused.class);
                    if (each == Fault.LOOP && hidden.equals("v3/opencl")) {
                        assertEquals(1, tier.usage().foreign().size(), "a link is foreign");
                    } else {
                        assertThrows(IOException.class, () -> tier.list(_ -> {}));
                        assertThrows(IOException.class, tier::usage);
                    }
                    tier.discard(all.getFirst());
                    tier.clear();
                    boolean _ = tier.enforceCapacity();
                });
                assertEquals(COUNT, tier.usage().entries());
                for (Entry entry : all) {
                    assertThat(tier.load(entry.id())).isHitOf(entry);
                }
                Entry late = entries.entry(100);
                assertThat(tier.store(late)).isStored();
                tier.discard(late);
            }
            assertTrue(tier.inputOutputErrors() > COUNT);
        }
        StoreInvariants.check(directory());
    }

    @Test
    @DisplayName("a sweep passes over directories that it cannot read or change, and counts them")
    void sweepPassesOver() throws Exception {
        try (LocalTier tier = open()) {
            List<Entry> all = fill(tier);
            Path hidden = Objects.requireNonNull(
                    StoreInvariants.file(directory(), all.getFirst().id()).getParent());
            during(Fault.LOOP, hidden, () -> {
                long errors = tier.inputOutputErrors();
                tier.setCapacity(0);
                assertEquals(errors, tier.inputOutputErrors(), "a link is foreign");
            });
            assertThat(tier.load(all.getFirst().id())).isHitOf(all.getFirst());
            long there = all.stream() // ids may begin with the same digits
                    .map(entry -> StoreInvariants.file(directory(), entry.id()).getParent())
                    .filter(hidden::equals)
                    .count();
            assertEquals(there, tier.usage().entries());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"pipe", "link", "loop", "directory", "full directory", "device"})
    @DisplayName("an object other than a file in the place of an entry is not opened: a miss,"
            + " and the next store replaces it or moves a directory aside")
    void objectInPlaceOfEntry(String kind) throws Exception {
        try (LocalTier tier = open()) {
            Entry entry = entries.entry(SIZE);
            tier.store(entry);
            Path file = StoreInvariants.file(directory(), entry.id());
            Path precious = Files.writeString(temporary.resolve("precious"), "mine");
            Files.delete(file);
            make(kind, file, precious);
            assertThat(tier.load(entry.id())).isAbsent();
            tier.discard(entry);
            tier.list(_ -> {});
            boolean _ = tier.enforceCapacity();
            assertThat(tier.store(entry)).isStored();
            assertThat(tier.load(entry.id())).isHitOf(entry);
            assertEquals("mine", Files.readString(precious));
            assertEquals(
                    kind.endsWith("directory") ? 1 : 0, tier.usage().foreign().size());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"pipe", "link", "loop", "file", "device"})
    @DisplayName("an object in the place of a directory of the tree: misses and failed stores"
            + " until it is removed")
    void objectInPlaceOfDirectory(String kind) throws Exception {
        Path precious = Files.createDirectory(temporary.resolve("precious"));
        for (String place : List.of("v3", "v3/opencl")) {
            FileTrees.delete(directory());
            try (LocalTier tier = open()) {
                Entry entry = entries.entry(SIZE);
                tier.store(entry);
                FileTrees.delete(directory().resolve(place));
                make(kind, directory().resolve(place), precious);
                assertThat(tier.load(entry.id())).isMiss();
                tier.discard(entry);
                tier.clear();
                StoreResult stored = tier.store(entry);
                if (!kind.equals("link")) { // a link to a directory is followed
                    assertThat(stored).isFailed();
                    Files.delete(directory().resolve(place));
                    assertThat(tier.store(entry)).isStored();
                }
                assertThat(tier.load(entry.id())).isHitOf(entry);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"pipe", "link", "directory", "device"})
    @DisplayName("an object in the place of the file of claims or sweeps is not opened: no"
            + " claims and no sweeps until it is removed, and everything else works")
    void objectInPlaceOfLock(String kind) throws Exception {
        try (LocalTier tier = open();
                LocalClaims claims = LocalClaims.open(directory())) {
            make(kind, directory().resolve("claims"), temporary.resolve("nowhere"));
            make(kind, directory().resolve("sweep"), temporary.resolve("nowhere"));
            Entry entry = entries.entry(SIZE);
            assertThat(tier.store(entry)).isStored();
            String reason = assertInstanceOf(
                            ClaimResult.Unavailable.class, claims.claim(entry.id()), kind)
                    .reason();
            assertTrue(reason.contains("claims"), reason);
            tier.setCapacity(1);
            assertThat(tier.load(entry.id())).isHitOf(entry);
            assertFalse(Files.exists(temporary.resolve("nowhere")));
            Files.delete(directory().resolve("claims"));
            Files.delete(directory().resolve("sweep"));
            assertInstanceOf(ClaimResult.Mine.class, claims.claim(entry.id()), kind);
            assertTrue(tier.enforceCapacity());
            assertThat(tier.load(entry.id())).isAbsent();
        }
    }

    private static void make(String kind, Path path, Path target) throws Exception {
        switch (kind) {
            case "pipe" -> tool("mkfifo", path.toString());
            case "link" -> Files.createSymbolicLink(path, target);
            case "loop" -> Files.createSymbolicLink(path, path.getFileName());
            case "file" -> Files.writeString(path, "in the way");
            case "directory" -> Files.createDirectory(path);
            case "full directory" ->
                Files.writeString(Files.createDirectory(path).resolve("a"), "a");
            default -> {
                assumeTrue(
                        "root".equals(System.getProperty("user.name")),
                        "making a device needs root");
                tool("mknod", path.toString(), "c", "1", "5"); // an endless stream of zeros
            }
        }
    }

    private static void tool(String... command) throws Exception {
        assumeTrue(SystemTool.run(command), "this machine does not allow " + command[0]);
    }

    /** Compiles C code that replaces functions of the C library in a process, by LD_PRELOAD. */
    private Map<String, String> preloaded(String code) throws Exception {
        Path source = Files.writeString(temporary.resolve("replaced.c"), code);
        Path library = temporary.resolve("replaced.so");
        tool("cc", "-shared", "-fPIC", "-o", library.toString(), source.toString());
        return Map.of("LD_PRELOAD", library.toString());
    }

    @Test
    @DisplayName("a stale handle, as file servers report it, is read again once; after two in a row"
            + " the lookup is a miss, and the entry stays")
    void staleHandle() throws Exception {
        Path stale = temporary.resolve("stale");
        Map<String, String> variables = preloaded("""
                #include <errno.h>
                #include <stdio.h>
                #include <string.h>
                #include <sys/syscall.h>
                #include <unistd.h>
                ssize_t read(int fd, void *bytes, size_t count) {
                  char link[64], path[4096];
                  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
                  ssize_t length = readlink(link, path, sizeof path - 1);
                  if (length > 6 && memcmp(path + length - 6, ".entry", 6) == 0
                      && (unlink("MARK1") == 0 || unlink("MARK2") == 0)) {
                    errno = ESTALE;
                    return -1;
                  }
                  return syscall(SYS_read, fd, bytes, count);
                }
                """.replace("MARK", stale.toString()));
        try (InteractiveProcess process =
                TierProcess.start(directory(), Long.MAX_VALUE, variables)) {
            assertEquals("Stored", process.request("store a " + SIZE));
            for (int failures : new int[] {1, 2}) {
                for (int i = 1; i <= failures; i++) {
                    Files.writeString(Path.of(stale.toString() + i), "");
                }
                assertEquals(
                        failures == 1 ? "Hit" : "Unavailable", process.request("load a " + SIZE));
                assertFalse(Files.exists(Path.of(stale + "1")), "nothing was stale");
                assertFalse(Files.exists(Path.of(stale + "2")), "nothing was stale");
                assertEquals("Hit", process.request("load a " + SIZE));
            }
            assertEquals(0, process.finish());
        }
        StoreInvariants.check(directory());
    }

    @Test
    @DisplayName("where file locks do not work, claims are unavailable, everything else works,"
            + " and of 16 due sweeps about one runs")
    void noLocks() throws Exception {
        Map<String, String> variables = preloaded("""
                #include <errno.h>
                #include <fcntl.h>
                #include <stdarg.h>
                #include <sys/syscall.h>
                #include <unistd.h>
                static int call(int fd, int command, void *argument) {
                  if (command == F_SETLK || command == F_SETLKW) { errno = ENOLCK; return -1; }
                  return syscall(SYS_fcntl, fd, command, argument);
                }
                int fcntl(int fd, int command, ...) {
                  va_list rest; va_start(rest, command);
                  void *argument = va_arg(rest, void *); va_end(rest);
                  return call(fd, command, argument);
                }
                int fcntl64(int fd, int command, ...) {
                  va_list rest; va_start(rest, command);
                  void *argument = va_arg(rest, void *); va_end(rest);
                  return call(fd, command, argument);
                }
                """);
        long capacity = 16 * CapacitySweeper.onDisk(SIZE + 700);
        try (InteractiveProcess process = TierProcess.start(directory(), capacity, variables)) {
            assertEquals("Unavailable", process.request("claim a"), "the test fakes no locks");
            for (int i = 0; i < COUNT; i++) {
                assertEquals("Stored", process.request("store a" + i + " " + SIZE));
                assertEquals("Hit", process.request("load a" + i + " " + SIZE));
            }
            assertEquals("true", process.request("sweep"));
            assertEquals("Absent", process.request("load a0 " + SIZE));
            assertEquals("Hit", process.request("load a" + (COUNT - 1) + " " + SIZE));
            assertEquals(0, process.finish());
        }
        StoreInvariants.check(directory());
    }
}
