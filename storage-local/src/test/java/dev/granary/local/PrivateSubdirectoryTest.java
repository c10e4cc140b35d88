package dev.granary.local;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.granary.testing.SystemTool;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.OptionalInt;

/** Tests of {@link PrivateSubdirectory}: volumes as clusters mount them, and other directories. */
final class PrivateSubdirectoryTest {
    private static final String OTHERS_WRITE = "rwxrwxrwx";

    @TempDir
    private Path temporary;

    private static Path expected(Path volume) throws IOException {
        return volume.resolve("granary-" + OwnerCheck.effectiveUser().orElseThrow());
    }

    private static LocalTier open(Path directory) throws LocalDirectoryException {
        return LocalTier.open(LocalTierConfig.builder(directory).build());
    }

    private Path directory(String name, String permissions) throws IOException {
        Path directory = Files.createDirectory(temporary.resolve(name));
        return Files.setPosixFilePermissions(
                directory, PosixFilePermissions.fromString(permissions));
    }

    @ParameterizedTest
    @ValueSource(strings = {"0777", "2775", "1777", "0770"})
    @DisplayName(
            "a volume that others can write, as clusters mount it, gets a private subdirectory")
    void volume(String mode) throws Exception {
        Path volume = Files.createDirectory(temporary.resolve("a volume"));
        assumeTrue(
                SystemTool.run(
                        "mount",
                        "-t",
                        "tmpfs",
                        "-o",
                        "size=16m,mode=" + mode,
                        "tmpfs",
                        volume.toString()),
                "nothing can be mounted here");
        try {
            Path used = PrivateSubdirectory.resolve(volume);
            assertEquals(expected(volume), used);
            assertFalse(Files.exists(used), "the tier creates it");
            open(used).close();
            assertEquals(
                    "rwx------",
                    PosixFilePermissions.toString(Files.getPosixFilePermissions(used)));
            assertEquals(used, PrivateSubdirectory.resolve(volume), "the same at each start");
            assertEquals(used, PrivateSubdirectory.resolve(used), "it is private itself");
            Path link = Files.createSymbolicLink(temporary.resolve("link"), temporary);
            assertEquals(
                    expected(link.resolve("a volume")),
                    PrivateSubdirectory.resolve(link.resolve("a volume")),
                    "through a link to its parent");
        } finally {
            assertTrue(SystemTool.run("umount", "-l", volume.toString()));
        }
    }

    @Test
    @DisplayName("a directory with the sticky bit gets a private subdirectory, and another"
            + " object in its place is refused")
    void sticky() throws Exception {
        Path shared = directory("shared", OTHERS_WRITE);
        Files.setAttribute(shared, "unix:mode", 0_1777);
        Path used = PrivateSubdirectory.resolve(shared);
        assertEquals(expected(shared), used);
        Path elsewhere = Files.createDirectory(temporary.resolve("elsewhere"));
        Files.createSymbolicLink(used, elsewhere);
        assertThrows(
                LocalDirectoryException.class, () -> open(PrivateSubdirectory.resolve(shared)));
        try (var files = Files.list(elsewhere)) {
            assertEquals(0, files.count());
        }
    }

    @Test
    @DisplayName("other directories that others can write are refused as before, since others"
            + " could replace the subdirectory")
    void refused() throws Exception {
        for (String permissions : new String[] {OTHERS_WRITE, "rwxrwxr-x"}) {
            Path directory = directory(permissions, permissions);
            assertEquals(directory, PrivateSubdirectory.resolve(directory));
            assertThrows(LocalDirectoryException.class, () -> open(directory));
        }
    }

    @Test
    @DisplayName(
            "a private, a missing and a linked directory and a file stay what was" + " configured")
    void unchanged() throws Exception {
        Path file = Files.writeString(temporary.resolve("file"), "");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-rw-"));
        Path shared = directory("shared", OTHERS_WRITE);
        Files.setAttribute(shared, "unix:mode", 0_1777);
        for (Path configured : new Path[] {
            directory("private", "rwx------"),
            directory("readable", "rwxr-xr-x"),
            temporary.resolve("missing"),
            Files.createSymbolicLink(temporary.resolve("link"), shared),
            file
        }) {
            assertEquals(configured, PrivateSubdirectory.resolve(configured));
        }
    }

    @Test
    @DisplayName("a shared directory of another user stays refused")
    void stranger() throws Exception {
        assumeTrue(
                "root".equals(System.getProperty("user.name")),
                "giving a directory away needs root");
        Path given = directory("given", OTHERS_WRITE);
        Files.setAttribute(given, "unix:mode", 0_1777);
        Files.setAttribute(given, "unix:uid", 54_321);
        assertEquals(given, PrivateSubdirectory.resolve(given));
    }

    @ParameterizedTest
    @ValueSource(strings = {"/mnt", "/mnt/a b", "/mnt/back\\slash", "/mnt/größe"})
    @DisplayName("Mount points are found by their whole path, with blanks and other characters")
    void mountPoints(String path) throws IOException {
        byte[] bytes = path.getBytes(StandardCharsets.UTF_8);
        String table = "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                + "36 21 98:0 /mnt1 "
                + new String(bytes, StandardCharsets.ISO_8859_1)
                        .replace("\\", "\\134")
                        .replace(" ", "\\040")
                + " rw,noatime master:1 - ext3 /dev/root rw\n"
                + "short line\n";
        assertTrue(isMountPoint(table, bytes));
        assertTrue(isMountPoint(table, new byte[] {'/'}));
        assertFalse(isMountPoint(table, (path + "/below").getBytes(StandardCharsets.UTF_8)));
        assertFalse(isMountPoint(table, "/mnt1".getBytes(StandardCharsets.UTF_8)));
        assertFalse(isMountPoint("", bytes));
    }

    private static boolean isMountPoint(String table, byte[] path) throws IOException {
        return PrivateSubdirectory.isMountPoint(new BufferedReader(new StringReader(table)), path);
    }

    @Test
    @DisplayName("The user that the kernel checks is the effective one")
    void effectiveUser() throws IOException {
        assertEquals(
                OptionalInt.of(1001),
                user("Name:\tjava\nUid:\t1000\t1001\t1000\t1000\nGid:\t1\t2\t3\t4\n"));
        assertEquals(OptionalInt.of(-2), user("Uid:\t0\t4294967294\t0\t0\n"));
        assertEquals(OptionalInt.empty(), user("Name:\tjava\n"));
    }

    private static OptionalInt user(String status) throws IOException {
        return OwnerCheck.effectiveUser(new BufferedReader(new StringReader(status)));
    }
}
