package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.testing.SystemTool;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;

/** Local directories that cannot be used or written. */
class LocalDirectoryTest {
    private static final FakeDescriptor A = FakeDescriptor.of("a");

    private final FakeBucket bucket = new FakeBucket();
    private final FakeEngine engine = new FakeEngine("one");
    private final TestNode node;

    LocalDirectoryTest(@TempDir Path directory) {
        this.node = new TestNode(directory.resolve("local"), bucket);
    }

    private void assertRefused(String... parts) {
        String message =
                String.valueOf(assertThrows(ConfigException.class, node::open).getMessage());
        for (String part : parts) {
            assertTrue(message.contains(part), () -> "'" + part + "' is not in: " + message);
        }
    }

    @Test
    @DisplayName("a file, a link and a directory that others can write are refused with advice")
    void refused() throws Exception {
        Files.writeString(node.directory, "a file");
        assertRefused(node.directory.toString(), "not a directory", "Choose another");
        Files.delete(node.directory);
        Files.createSymbolicLink(node.directory, node.directory.getParent());
        assertRefused("symbolic link", "instead");
        Files.delete(node.directory);
        Files.createDirectory(node.directory);
        Files.setPosixFilePermissions(node.directory, PosixFilePermissions.fromString("rwxrwxrwx"));
        assertRefused("can be written by others", "chmod 700");
    }

    @Test
    @DisplayName("if the directory is refused, the tiers of all buckets are closed; a plugged"
            + " cache stays open, since the application closes it")
    void refusedClosesBuckets() throws Exception {
        Files.writeString(node.directory, "a file");
        GranaryConfigBuilder config = node.config().bucket("s3://one").bucket("s3://two");
        assertThrows(ConfigException.class, () -> node.open(config.build()));
        assertEquals(2, bucket.closings.get());
        GranaryBuilder plugged =
                Granary.builder().config(node.config().offline().build()).layer("rack", bucket);
        assertThrows(ConfigException.class, plugged::open);
        assertEquals(2, bucket.closings.get());
        Files.delete(node.directory);
        node.open(config.build()).close();
        assertEquals(4, bucket.closings.get());
    }

    @Test
    @DisplayName("in a volume that others can write, everything is in a private subdirectory,"
            + " which the next process uses")
    void volume() throws Exception {
        Files.createDirectories(node.directory);
        Files.setAttribute(node.directory, "unix:mode", 0_1777);
        try (Granary granary = node.open()) {
            granary.primitive(engine, A);
            assertTrue(granary.flush(TestNode.LONG));
        }
        try (Granary granary = node.open()) {
            assertEquals(PrimitiveSource.LOCAL, granary.lookup(engine, A).source());
        }
        try (Stream<Path> files = Files.list(node.directory)) {
            List<Path> own = files.toList();
            assertEquals(1, own.size(), own::toString);
            assertTrue(own.getFirst().getFileName().toString().startsWith("granary-"));
        }
    }

    @Test
    @DisplayName("in a read-only directory hits are read, all else is compiled and shared, and"
            + " nothing throws")
    void readOnly() throws Exception {
        Files.createDirectories(node.directory);
        Assumptions.assumeTrue(
                SystemTool.run(
                        "mount",
                        "-t",
                        "tmpfs",
                        "-o",
                        "size=4m,mode=700",
                        "tmpfs",
                        node.directory.toString()),
                "nothing can be mounted here, and root may write whatever the permissions");
        try {
            try (Granary granary = node.openWithoutBucket()) {
                granary.primitive(engine, A);
            }
            for (int i = 0;
                    !SystemTool.run("mount", "-o", "remount,ro", node.directory.toString());
                    i++) {
                assertTrue(i < 50, "cannot be mounted for reading only");
                // a collection unmaps the files that a closed tier had mapped for writing
                System.gc();
                Thread.sleep(20);
            }
            FakeDescriptor b = FakeDescriptor.of("b");
            try (Granary granary = node.open()) {
                assertEquals(PrimitiveSource.LOCAL, granary.lookup(engine, A).source());
                assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, b).source());
                assertTrue(granary.flush(TestNode.LONG));
                assertEquals(1, granary.statistics().local().refused());
                assertEquals(
                        1, granary.statistics().layers().getFirst().results().stored());
                bucket.behavior = FakeBucket.Behavior.IS_DOWN;
                assertEquals(
                        PrimitiveSource.COMPILED,
                        granary.lookup(engine, FakeDescriptor.of("c")).source());
                assertTrue(granary.flush(TestNode.LONG));
                assertEquals(
                        0,
                        granary.statistics().count(Counter.UPLOADS_LEFT),
                        "no process could find it later");
                assertEquals(1, granary.statistics().count(Counter.STORES_DROPPED));
            }
        } finally {
            assertTrue(SystemTool.run("umount", "-l", node.directory.toString()));
        }
    }
}
