package dev.granary.local;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.contract.TestEntries;
import dev.granary.testing.SystemTool;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;

/** Tests of directories that are refused, created, read-only or full. */
final class DirectoryValidatorTest {
    private final TestEntries entries = new TestEntries("DirectoryValidatorTest");

    @TempDir
    private Path temporary;

    private boolean mounted;

    private static LocalTier open(Path directory) throws LocalDirectoryException {
        return LocalTier.open(
                LocalTierConfig.builder(directory).background(Runnable::run).build());
    }

    @Test
    @DisplayName("the directory is created with its parents, private to the user")
    void created() throws Exception {
        Path directory = temporary.resolve("a/b/c");
        try (LocalTier tier = open(directory)) {
            tier.store(entries.entry(10));
        }
        try (Stream<Path> all = Files.walk(temporary.resolve("a"))) {
            for (Path path : all.toList()) {
                String permissions =
                        PosixFilePermissions.toString(Files.getPosixFilePermissions(path));
                assertEquals(
                        Files.isDirectory(path) ? "rwx------" : "rw-------",
                        permissions,
                        path::toString);
            }
        }
    }

    @Test
    @DisplayName("a link, a file, a directory that others can write: refused with a remedy in the"
            + " message; nothing is written")
    void refused() throws Exception {
        Path real = Files.createDirectory(temporary.resolve("real"));
        Path link = Files.createSymbolicLink(temporary.resolve("link"), real);
        Path file = Files.createFile(temporary.resolve("file"));
        Path shared = Files.createDirectory(temporary.resolve("shared"));
        assertRefused(link, "symbolic link", "Configure the directory that it points to");
        assertRefused(file, "is not a directory", "Choose another");
        assertRefused(file.resolve("below"), "file", "Choose another");
        for (String open : List.of("rwx-w----", "rwx----w-", "rwxrwxrwx")) {
            Files.setPosixFilePermissions(shared, PosixFilePermissions.fromString(open));
            assertRefused(shared, open, "chmod 700 " + shared);
        }
        try (Stream<Path> left = Files.walk(temporary)) {
            assertEquals(5, left.count(), "nothing was written");
        }
        Files.setPosixFilePermissions(shared, PosixFilePermissions.fromString("rwxr-xr-x"));
        open(shared).close();
    }

    @Test
    @DisplayName("a directory of another user is refused, even if private; root's and this user's"
            + " own are accepted")
    void stranger() throws Exception {
        Path directory = Files.createDirectory(
                temporary.resolve("cache"), DirectoryValidator.privateDirectory(temporary));
        open(directory).close();
        assumeTrue(
                "root".equals(System.getProperty("user.name")),
                "giving a directory away needs root");
        Path given = Files.createDirectory(
                temporary.resolve("given"), DirectoryValidator.privateDirectory(temporary));
        Files.setAttribute(given, "unix:uid", 54_321);
        assertRefused(given, "belongs to the user 54321", "chown root " + given);
        try (Stream<Path> left = Files.walk(given)) {
            assertEquals(1, left.count(), "nothing was written");
        }
        Files.setAttribute(given, "unix:uid", 0);
        open(given).close();
    }

    @Test
    @DisplayName("parents may be writable by others, as /tmp is, and may be links: only the"
            + " directory itself is checked")
    void parents() throws Exception {
        Path sticky = Files.createDirectory(temporary.resolve("sticky"));
        Files.setAttribute(sticky, "unix:mode", 0_1777);
        try (LocalTier tier = open(sticky.resolve("cache"))) {
            assertThat(tier.store(entries.entry(10))).isStored();
        }
        Path link = Files.createSymbolicLink(temporary.resolve("link"), sticky);
        open(link.resolve("cache")).close();
        open(link.resolve("other/cache")).close();
        assertEquals(
                "rwx------",
                PosixFilePermissions.toString(
                        Files.getPosixFilePermissions(sticky.resolve("other/cache"))));
        Path broken =
                Files.createSymbolicLink(temporary.resolve("broken"), temporary.resolve("nothing"));
        assertRefused(broken, "symbolic link", "Configure the directory that it points to");
        assertRefused(broken.resolve("cache"), "cannot be created", "Choose another");
        assertFalse(Files.exists(temporary.resolve("nothing")));
    }

    @Test
    @DisplayName("there is a capacity by default")
    void defaultLimit() throws Exception {
        try (LocalTier tier = open(temporary.resolve("cache"))) {
            assertEquals(4L << 30, LocalTierConfig.DEFAULT_CAPACITY_BYTES);
            assertEquals(LocalTierConfig.DEFAULT_CAPACITY_BYTES, tier.capacityBytes());
        }
    }

    private static void assertRefused(Path directory, String... words) {
        String message = assertThrows(LocalDirectoryException.class, () -> open(directory))
                .getMessage();
        assertTrue(message != null && message.contains(directory.toString()), message);
        for (String word : words) {
            assertTrue(message != null && message.contains(word), message);
        }
    }

    @Test
    @DisplayName("One directory under two names in one process has the same entries")
    void twoNames() throws Exception {
        Path real = Files.createDirectory(temporary.resolve("real"));
        Path link = Files.createSymbolicLink(temporary.resolve("link"), real);
        try (LocalTier one = open(real.resolve("cache"));
                LocalTier two = open(link.resolve("cache"))) {
            for (int i = 0; i < 5; i++) {
                one.store(entries.entry(100));
                two.store(entries.entry(100));
            }
            assertEquals(10, one.usage().entries());
            assertEquals(one.usage(), two.usage());
            assertEquals(link.resolve("cache"), two.directory());
        }
    }

    @Test
    @DisplayName("a read-only directory opens, reads hit, writes are refused and counted")
    void readOnly() throws Exception {
        Path directory = Files.createDirectory(temporary.resolve("disk"));
        mount(directory, "size=4m,mode=700");
        Entry entry = entries.entry(1000);
        try (LocalTier tier = open(directory)) {
            tier.store(entry);
        }
        mount(directory, "remount,ro");
        try (LocalTier tier = open(directory)) {
            assertThat(tier.load(entry.id())).isHitOf(entry);
            assertThat(tier.store(entry)).isDuplicate();
            assertThat(tier.store(entries.entry(10))).isRefused();
            tier.discard(entry);
            assertThat(tier.load(entry.id())).isHitOf(entry);
            assertTrue(tier.enforceCapacity());
            assertTrue(tier.inputOutputErrors() >= 2);
        }
        open(directory).close();
    }

    @Test
    @DisplayName("a full disk: reads hit, writes fail softly and are counted, no partial entry"
            + " stays")
    void fullDisk() throws Exception {
        Path directory = Files.createDirectory(temporary.resolve("disk"));
        mount(directory, "size=1m,mode=700");
        try (LocalTier tier = open(directory)) {
            Entry entry = entries.entry(300_000);
            assertThat(tier.store(entry)).isStored();
            assertThat(tier.store(entries.entry(300_000))).isStored();
            assertThat(tier.store(entries.entry(600_000))).isFailed();
            assertThat(tier.load(entry.id())).isHitOf(entry);
            assertEquals(1, tier.inputOutputErrors());
            assertEquals(0, tier.usage().unfinished());
            tier.clear();
            assertThat(tier.store(entries.entry(600_000))).isStored();
        }
        StoreInvariants.check(directory);
    }

    @Test
    @DisplayName("a directory without write permission, for users to whom permissions apply")
    void noPermission() throws Exception {
        Path directory = temporary.resolve("cache");
        Entry entry = entries.entry(1000);
        try (LocalTier tier = open(directory)) {
            tier.store(entry);
        }
        setPermissions(directory, "r-x------", "r--------");
        try {
            assumeTrue(
                    !Files.isWritable(directory),
                    "this user may write everywhere; the read-only mount is the test for it");
            try (LocalTier tier = open(directory)) {
                assertThat(tier.load(entry.id())).isHitOf(entry);
                assertThat(tier.store(entries.entry(10))).isRefused();
            }
        } finally {
            setPermissions(directory, "rwx------", "rw-------");
        }
    }

    private static void setPermissions(Path tree, String directories, String files)
            throws IOException {
        Files.setPosixFilePermissions(tree, PosixFilePermissions.fromString("rwx------"));
        try (Stream<Path> all = Files.walk(tree)) {
            for (Path path : all.toList().reversed()) {
                Files.setPosixFilePermissions(
                        path,
                        PosixFilePermissions.fromString(
                                Files.isDirectory(path) ? directories : files));
            }
        }
    }

    private void mount(Path directory, String options) throws IOException, InterruptedException {
        assumeTrue(
                "root".equals(System.getProperty("user.name")), "mounting a small disk needs root");
        boolean done = SystemTool.run(
                "mount", "-t", "tmpfs", "-o", options, "tmpfs", directory.toString());
        assumeTrue(done, "this machine does not allow to mount a small disk");
        mounted = true;
    }

    @AfterEach
    void unmount() throws IOException, InterruptedException {
        if (mounted) {
            assertTrue(SystemTool.run("umount", "-l", temporary.resolve("disk").toString()));
            assertFalse(Files.exists(temporary.resolve("disk/v3")));
        }
    }
}
