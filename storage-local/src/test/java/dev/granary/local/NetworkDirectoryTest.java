package dev.granary.local;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.granary.local.config.LocalDirectoryException;
import dev.granary.local.config.LocalTierConfig;
import dev.granary.local.config.NetworkFileSystemPolicy;
import dev.granary.local.directory.DirectoryValidator;
import dev.granary.local.directory.FileSystemType;
import dev.granary.local.directory.MountTable;
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
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Tests of a directory on a real network file system: sshfs without a network, or rclone, if root
 * can mount one.
 */
final class NetworkDirectoryTest {
    @TempDir
    private Path temporary;

    private boolean mounted;

    @Test
    @DisplayName("D13 a network file system is refused with its type, the reason and a remedy, and"
            + " nothing is written, unless it is allowed")
    void refusedUnlessAllowed() throws Exception {
        Path served = Files.createDirectory(temporary.resolve("served"));
        Path mount = Files.createDirectory(temporary.resolve("mount"));
        Path existing = Files.createDirectory(
                served.resolve("existing"),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        String type = mount(served, mount);
        Path link = Files.createSymbolicLink(temporary.resolve("link"), mount);
        for (Path directory : List.of(
                mount.resolve("existing"),
                mount.resolve("a/b"),
                link.resolve("existing"),
                link.resolve("c"))) {
            assertRefused(directory, type);
        }
        assertEquals(type, FileSystemType.of(mount).name());
        assertEquals(Optional.of(type), MountTable.find(mount).map(FileSystemType::name));
        try (Stream<Path> left = Files.walk(served)) {
            assertEquals(List.of(served, existing), left.sorted().toList());
        }
        assertEquals(
                mount.resolve("existing").toRealPath(),
                DirectoryValidator.prepare(
                        link.resolve("existing"), NetworkFileSystemPolicy.ALLOW));
        DirectoryValidator.prepare(mount.resolve("a/b"), NetworkFileSystemPolicy.ALLOW);
        assertTrue(Files.isDirectory(served.resolve("a/b")));
    }

    private static void assertRefused(Path directory, String type) {
        LocalTierConfig config =
                LocalTierConfig.builder(directory).background(Runnable::run).build();
        LocalDirectoryException refusal =
                assertThrows(LocalDirectoryException.class, () -> LocalTier.open(config));
        assertEquals(
                "The local cache directory " + directory + " lies on a network file system (" + type
                        + "). Locks and shared mappings do not hold between machines; several"
                        + " machines share kernels by a bucket. Choose a directory on a disk of"
                        + " this machine or, where no other machine uses this one, allow it:"
                        + " network-dir = \"allow\" in the configuration file,"
                        + " GRANARY_NETWORK_DIR=allow, or NetworkFileSystemPolicy.ALLOW in code.",
                refusal.getMessage());
    }

    /** Mounts {@code served} at {@code place}; returns the type that the system should report. */
    private String mount(Path served, Path place) throws IOException, InterruptedException {
        assumeTrue(
                "root".equals(System.getProperty("user.name")),
                "mounting a network file system needs root");
        assumeTrue(Files.exists(Path.of("/dev/fuse")), "this machine has no FUSE");
        Optional<Path> server = Stream.of(
                        "/usr/lib/openssh", "/usr/libexec/openssh", "/usr/lib/ssh")
                .map(Path::of)
                .map(directory -> directory.resolve("sftp-server"))
                .filter(Files::isExecutable)
                .findFirst();
        if (server.isPresent()) {
            Path connect = Files.writeString(
                    temporary.resolve("connect"), "#!/bin/sh\nexec " + server.get() + "\n");
            Files.setPosixFilePermissions(connect, PosixFilePermissions.fromString("rwx------"));
            mounted = SystemTool.run(
                    "sshfs", "-o", "ssh_command=" + connect, "nowhere:" + served, place.toString());
            if (mounted) {
                return "fuse.sshfs";
            }
        }
        mounted = SystemTool.run(
                "rclone",
                "mount",
                "--daemon",
                "--config",
                "/dev/null",
                "--vfs-cache-mode",
                "writes",
                "--cache-dir",
                temporary.resolve("rclone").toString(),
                ":local:" + served,
                place.toString());
        assumeTrue(
                mounted, "neither sshfs with an sftp-server nor rclone could mount anything here");
        return "fuse.rclone";
    }

    @AfterEach
    void unmount() throws IOException, InterruptedException {
        if (mounted) {
            assertTrue(SystemTool.run("umount", "-l", temporary.resolve("mount").toString()));
        }
    }
}
