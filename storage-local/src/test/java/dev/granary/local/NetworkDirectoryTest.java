package dev.granary.local;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.granary.cache.Entry;
import dev.granary.testing.InteractiveProcess;
import dev.granary.testing.SystemTool;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
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
    @DisplayName("a directory on a network file system is used like any other, by two"
            + " processes at once")
    void works() throws Exception {
        Path served = Files.createDirectory(temporary.resolve("served"));
        Path mount = Files.createDirectory(temporary.resolve("mount"));
        String type = mount(served, mount);
        assertEquals(type, Files.getFileStore(mount).type());
        Path directory = mount.resolve("home/cache");
        LocalTierConfig config =
                LocalTierConfig.builder(directory).background(Runnable::run).build();
        try (LocalTier tier = LocalTier.open(config);
                InteractiveProcess other = TierProcess.start(directory, Long.MAX_VALUE)) {
            for (int i = 0; i < 20; i++) {
                Entry here = SharedEntries.entry("here" + i, 5_000 * i);
                assertThat(tier.store(here)).isStored();
                assertEquals("Hit", other.request("load here" + i + " " + 5_000 * i));
                assertEquals("Stored", other.request("store there" + i + " 10000"));
                Entry there = SharedEntries.entry("there" + i, 10_000);
                assertThat(tier.load(there.id())).isHitOf(there);
            }
            Entry replaced = SharedEntries.entry("here3", 77);
            assertThat(tier.store(replaced)).isStored();
            assertEquals("Hit", other.request("load here3 77"));
            Files.write(StoreInvariants.file(directory, replaced.id()), new byte[] {1});
            assertThat(tier.load(replaced.id())).isDamaged();
            assertThat(tier.load(replaced.id())).isAbsent();
            tier.setCapacity(100_000);
            assertTrue(tier.usage().diskBytes() <= 100_000);
            tier.clear();
            assertEquals("Absent", other.request("load there0 10000"));
            assertEquals(0, tier.inputOutputErrors());
            assertEquals(0, other.finish());
        }
        StoreInvariants.check(directory);
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
