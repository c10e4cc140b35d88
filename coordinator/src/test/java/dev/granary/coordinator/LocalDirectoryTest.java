package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.testing.SystemTool;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.Stream;

/** Local directories that cannot be used or written. */
class LocalDirectoryTest {
    private static final FakeDescriptor A = FakeDescriptor.of("a");

    private final FakeBucket bucket = new FakeBucket();
    private final FakeEngine engine = new FakeEngine("one");
    private TestNode node;

    LocalDirectoryTest(@TempDir Path directory) {
        this.node = new TestNode(directory.resolve("local"), bucket);
    }

    /** Checks that a program works without the local tier, and says so once. */
    private void assertWorksWithout(String... causes) throws Exception {
        FakeDescriptor own = FakeDescriptor.of(causes[0]);
        PrintStream err = System.err;
        ByteArrayOutputStream captured = new ByteArrayOutputStream();
        System.setErr(new PrintStream(captured, true, UTF_8));
        try (Granary granary = node.open()) {
            assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, own).source());
            assertEquals(PrimitiveSource.MEMORY, granary.lookup(engine, own).source());
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(OptionalLong.of(0), granary.localCapacity());
        } finally {
            System.setErr(err);
        }
        try (Granary granary = node.open()) {
            assertEquals(PrimitiveSource.BUCKET, granary.lookup(engine, own).source());
        }
        String log = captured.toString(UTF_8);
        assertEquals(1, log.lines().filter(line -> line.contains(" WARN ")).count(), log);
        for (String part : causes) {
            assertTrue(log.contains(part), () -> "'" + part + "' is not in: " + log);
        }
    }

    @Test
    @DisplayName("with a file, a link or a directory that others can write, programs use memory and"
            + " buckets; the cause and the cure are logged, and nothing is written there")
    void unusable() throws Exception {
        Files.writeString(node.directory, "a file");
        assertWorksWithout("is not a directory", node.directory.toString(), "Choose another");
        assertEquals("a file", Files.readString(node.directory));
        Files.delete(node.directory);
        Path other = Files.createDirectory(node.directory.resolveSibling("other"));
        Files.createSymbolicLink(node.directory, other);
        node = new TestNode(node.directory, bucket);
        assertWorksWithout("symbolic link", "instead");
        Files.delete(node.directory);
        Files.createDirectory(node.directory);
        Files.setPosixFilePermissions(node.directory, PosixFilePermissions.fromString("rwxrwxrwx"));
        assertWorksWithout("can be written by others", "chmod 700");
        for (Path directory : List.of(other, node.directory)) {
            try (Stream<Path> files = Files.list(directory)) {
                assertEquals(List.of(), files.toList());
            }
        }
    }

    @Test
    @DisplayName("a directory that cannot be created is logged, too: its file system is read-only")
    void uncreatable() throws Exception {
        Assumptions.assumeTrue(Files.isDirectory(Path.of("/proc/self")), "no /proc");
        node = new TestNode(Path.of("/proc/granary/cache"), bucket);
        assertWorksWithout("cannot be created", "/proc/granary/cache", "Choose another");
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
            assertTrue(SystemTool.run("mount", "-o", "remount,ro", node.directory.toString()));
            FakeDescriptor b = FakeDescriptor.of("b");
            try (Granary granary = node.open()) {
                assertEquals(PrimitiveSource.LOCAL, granary.lookup(engine, A).source());
                assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, b).source());
                assertTrue(granary.flush(TestNode.LONG));
                assertEquals(0, granary.statistics().count(Counter.LOCAL_STORED));
                assertEquals(
                        1, granary.statistics().layers().getFirst().count(Counter.LAYER_STORED));
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
