package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.machine.UploadOutbox;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.local.LocalTier;
import dev.granary.local.LocalTierConfig;
import dev.granary.testing.Await;
import dev.granary.testing.InteractiveProcess;
import dev.granary.testing.SystemTool;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;

/** State that survives a process: pending uploads, and the quarantine of entries that ended one. */
class ProcessCrashTest {
    private static final FakeDescriptor A = FakeDescriptor.of("a");
    private static final Duration SOON = Duration.ofMillis(50);

    private final Path directory;
    private final FakeBucket bucket = new FakeBucket();
    private final FakeEngine engine = new FakeEngine("one");
    private final TestNode node;

    ProcessCrashTest(@TempDir Path directory) {
        this.directory = directory;
        this.node = new TestNode(directory.resolve("local"), bucket);
    }

    /** Compiles {@code names} while the bucket hangs, and closes. */
    private GranaryStatistics closeWithPendingUploads(String bucketName, String... names)
            throws Exception {
        bucket.behavior = FakeBucket.Behavior.HANGS;
        Granary granary = node.open(bucketName, SOON);
        for (String name : names) {
            granary.primitive(engine, FakeDescriptor.of(name));
        }
        Await.holds(() -> node.sessionFiles(UploadOutbox.DIRECTORY).size() >= names.length);
        granary.close();
        bucket.behavior = FakeBucket.Behavior.WORKS;
        return granary.statistics();
    }

    @Test
    @DisplayName("close waits for uploads no longer than the flush limit; the next process does the"
            + " rest")
    void nextProcessUploads() throws Exception {
        String[] names = Stream.iterate(1, i -> i + 1)
                .limit(20)
                .map(i -> "kernel " + i)
                .toArray(String[]::new);
        assertEquals(20, closeWithPendingUploads("s3://test", names).count(Counter.UPLOADS_LEFT));
        assertEquals(0, bucket.entries.size());
        try (Granary next = node.open()) {
            assertTrue(next.flush(TestNode.LONG));
            assertEquals(20, next.statistics().count(Counter.UPLOADS_INHERITED));
            assertEquals(0, next.statistics().count(Counter.UPLOADS_LEFT));
        }
        assertEquals(20, bucket.entries.size());
        assertEquals(List.of(), list(node.directory.resolve("sessions")));
    }

    @Test
    @DisplayName("after a temporary refusal the next process with access uploads the entry")
    void refusedForNow() throws Exception {
        bucket.behavior = FakeBucket.Behavior.REFUSES_WRITES;
        for (int i = 0; i < 2; i++) {
            try (Granary granary = node.open()) {
                granary.primitive(engine, A);
                granary.primitive(engine, FakeDescriptor.of("compiled in the pause"));
                granary.flush(TestNode.LONG);
                assertEquals(2, TestNode.closed(granary).count(Counter.UPLOADS_LEFT));
            }
            assertEquals(2, node.sessionFiles(UploadOutbox.DIRECTORY).size());
        }
        bucket.behavior = FakeBucket.Behavior.WORKS;
        try (Granary next = node.open()) {
            assertTrue(next.flush(TestNode.LONG));
            assertEquals(2, next.statistics().count(Counter.UPLOADS_INHERITED));
        }
        assertEquals(2, bucket.entries.size());
        assertEquals(List.of(), node.sessionFiles(UploadOutbox.DIRECTORY));
    }

    @Test
    @DisplayName("an upload to another bucket stays for a process with that bucket")
    void otherBucket() throws Exception {
        closeWithPendingUploads("s3://first", "a");
        try (Granary other = node.open("s3://second", TestNode.LONG);
                Granary none = node.openWithoutBucket()) {
            assertEquals(0, other.statistics().count(Counter.UPLOADS_INHERITED));
            assertEquals(0, none.statistics().count(Counter.UPLOADS_INHERITED));
        }
        assertEquals(Set.of(), bucket.entries.keySet());
        try (Granary first = node.open("s3://first", TestNode.LONG)) {
            assertTrue(first.flush(TestNode.LONG));
            assertEquals(1, first.statistics().count(Counter.UPLOADS_INHERITED));
        }
        assertEquals(Set.of(A.getId()), bucket.entries.keySet());
    }

    @Test
    @DisplayName("uploads to an unconfigured bucket are removed after 30 days, unfinished sessions"
            + " after one day")
    void expires() throws Exception {
        closeWithPendingUploads("s3://first", "a");
        Path sessions = node.directory.resolve("sessions");
        Files.createDirectory(sessions.resolve("0123456789abcdef"));
        node.now = node.now.plus(Duration.ofHours(23));
        node.open("s3://second", TestNode.LONG).close();
        assertEquals(2, list(sessions).size());
        node.now = node.now.plus(Duration.ofHours(2));
        node.open("s3://second", TestNode.LONG).close();
        assertEquals(1, list(sessions).size());
        node.now = node.now.plus(Duration.ofDays(30));
        node.open("s3://second", TestNode.LONG).close();
        assertEquals(List.of(), list(sessions));
    }

    @Test
    @DisplayName("foreign files in a dead session are ignored or removed, and the valid uploads are"
            + " done")
    void damagedSession() throws Exception {
        closeWithPendingUploads("s3://test", "a");
        Path outbox = Objects.requireNonNull(
                node.sessionFiles(UploadOutbox.DIRECTORY).getFirst().getParent());
        byte[] note =
                Files.readAllBytes(node.sessionFiles(UploadOutbox.DIRECTORY).getFirst());
        Files.write(outbox.resolve("f".repeat(64)), Arrays.copyOf(note, note.length - 1));
        Files.write(outbox.resolve("0".repeat(64)), note);
        Path empty = Files.write(outbox.resolve("e".repeat(64)), new byte[0]);
        Path foreign = Files.createFile(
                Files.createDirectory(outbox.resolve("directory")).resolve("foreign"));
        Files.writeString(outbox.resolveSibling("restoring"), "not a mark");
        Files.writeString(node.directory.resolve("sessions").resolve("a file"), "not a session");
        Path strange = Files.createDirectories(
                node.directory.resolve("sessions").resolve("0123456789abcdef").resolve("lock"));
        try (Granary next = node.open()) {
            assertTrue(next.flush(TestNode.LONG));
            assertEquals(1, next.statistics().count(Counter.UPLOADS_INHERITED));
        }
        assertEquals(Set.of(A.getId()), bucket.entries.keySet());
        assertEquals(
                Set.of(empty, Objects.requireNonNull(foreign.getParent())),
                Set.copyOf(list(outbox)));
        node.now = node.now.plus(Duration.ofDays(31));
        node.open().close();
        assertFalse(Files.exists(outbox));
        assertTrue(Files.exists(strange));
    }

    @ParameterizedTest
    @ValueSource(strings = {"pipe", "directory"})
    @Timeout(60)
    @DisplayName("another object in the place of the marks keeps no upload from being adopted")
    void noFileOfMarks(String kind) throws Exception {
        closeWithPendingUploads("s3://test", "a");
        Path marks = Objects.requireNonNull(
                        node.sessionFiles(UploadOutbox.DIRECTORY).getFirst().getParent())
                .resolveSibling("restoring");
        Files.deleteIfExists(marks);
        if (kind.equals("pipe")) {
            assumeTrue(SystemTool.run("mkfifo", marks.toString()), "no mkfifo");
        } else {
            Files.createDirectory(marks);
        }
        try (Granary next = node.open()) {
            assertTrue(next.flush(TestNode.LONG));
            assertEquals(1, next.statistics().count(Counter.UPLOADS_INHERITED));
        }
        assertEquals(Set.of(A.getId()), bucket.entries.keySet());
    }

    @Test
    @DisplayName("an entry that was evicted before its upload is counted as dropped, and not tried"
            + " again")
    void evictedBeforeUpload() throws Exception {
        closeWithPendingUploads("s3://test", "a");
        try (LocalTier tier =
                LocalTier.open(LocalTierConfig.builder(node.directory).build())) {
            tier.clear();
        }
        try (Granary next = node.open()) {
            assertTrue(next.flush(TestNode.LONG));
            assertEquals(1, next.statistics().count(Counter.STORES_DROPPED));
        }
        assertEquals(List.of(), node.sessionFiles(UploadOutbox.DIRECTORY));
    }

    @Test
    @DisplayName(
            "Two instances in one JVM on one directory, under any path, do not touch each other's"
                    + " sessions")
    void twoInOneJvm() throws Exception {
        bucket.behavior = FakeBucket.Behavior.HANGS;
        Path link = Files.createSymbolicLink(directory.resolve("link"), directory);
        TestNode aliased = new TestNode(link.resolve("local"), new FakeBucket());
        try (Granary first = node.open("s3://test", SOON)) {
            first.primitive(engine, A);
            bucket.storeStarted.await();
            for (TestNode other : List.of(node, aliased)) {
                try (Granary second = other.open("s3://test", SOON)) {
                    assertEquals(0, second.statistics().count(Counter.UPLOADS_INHERITED));
                    assertEquals(PrimitiveSource.LOCAL, second.lookup(engine, A).source());
                }
            }
            InteractiveProcess child =
                    ChildProcess.start(ChildProcess.PRINTS_ADOPTED, node.directory);
            assertEquals("0", child.answer());
            child.finish();
            assertEquals(1, node.sessionFiles(UploadOutbox.DIRECTORY).size());
        }
    }

    @Test
    @DisplayName("of many concurrently opened instances exactly one takes over each upload")
    void manyAdoptAtOnce() throws Exception {
        closeWithPendingUploads("s3://test", "a", "b", "c", "d");
        int many = 8;
        CountDownLatch start = new CountDownLatch(1);
        List<Future<Granary>> futures = new ArrayList<>();
        long adopted = 0;
        try (ExecutorService pool = Executors.newFixedThreadPool(many)) {
            for (int i = 0; i < many; i++) {
                futures.add(pool.submit(() -> {
                    start.await();
                    return node.open();
                }));
            }
            start.countDown();
            for (Future<Granary> each : futures) {
                try (Granary granary = each.get()) {
                    assertTrue(granary.flush(TestNode.LONG));
                    adopted += granary.statistics().count(Counter.UPLOADS_INHERITED);
                }
            }
        }
        assertEquals(4, adopted);
        assertEquals(4, bucket.entries.size());
        assertEquals(List.of(), list(node.directory.resolve("sessions")));
    }

    @Test
    @DisplayName("after a process is killed with pending uploads, the next one does them")
    void killedWithPendingUploads() throws Exception {
        InteractiveProcess child = ChildProcess.start(ChildProcess.WAITS_IN_UPLOAD, node.directory);
        assertEquals(ChildProcess.WAITS_IN_UPLOAD, child.answer());
        try (Granary concurrent = node.open()) {
            assertEquals(
                    0,
                    concurrent.statistics().count(Counter.UPLOADS_INHERITED),
                    "the child is running");
        }
        child.kill();
        try (Granary next = node.open()) {
            assertTrue(next.flush(TestNode.LONG));
            assertEquals(1, next.statistics().count(Counter.UPLOADS_INHERITED));
        }
        assertEquals(Set.of(A.getId()), bucket.entries.keySet());
    }

    @Test
    @DisplayName("an entry that ended a process is not tried for a day; other content under its id"
            + " is")
    void quarantine() throws Exception {
        try (Granary granary = node.openWithoutBucket()) {
            granary.primitive(engine, A);
        }
        InteractiveProcess child = ChildProcess.start(ChildProcess.DIES_IN_RESTORE, node.directory);
        assertEquals(FakeEngine.DEATH, child.finish());
        // The bucket has the same content that ended the process.
        bucket.store(TestEntries.entry(A.getId(), FakeEngine.binaries(A, "one")));
        int restoresBefore = engine.restores.get();
        try (Granary next = node.open()) {
            assertEquals(PrimitiveSource.COMPILED, next.lookup(engine, A).source());
            assertEquals(2, next.statistics().count(Counter.RESTORES_QUARANTINED), "in both tiers");
        }
        assertEquals(restoresBefore, engine.restores.get());
        try (Granary other = node.open()) {
            assertEquals(PrimitiveSource.COMPILED, other.lookup(engine, A).source());
            node.now = node.now.plus(Duration.ofHours(25));
            other.setPrimitiveCacheCapacity(0);
            assertEquals(
                    PrimitiveSource.LOCAL,
                    other.lookup(engine, A).source(),
                    "a day has passed in this process");
        }
        try (Granary later = node.open()) {
            assertEquals(
                    PrimitiveSource.LOCAL,
                    later.lookup(engine, A).source(),
                    "a day has passed between processes");
            assertEquals(0, later.statistics().count(Counter.RESTORES_QUARANTINED));
        }
    }

    @Test
    @DisplayName("different content under the id of an entry in quarantine is tried")
    void otherContentIsTried() throws Exception {
        try (Granary granary = node.openWithoutBucket()) {
            granary.primitive(engine, A);
        }
        assertEquals(
                FakeEngine.DEATH,
                ChildProcess.start(ChildProcess.DIES_IN_RESTORE, node.directory).finish());
        try (Granary rebuilt = node.openWithoutBucket()) {
            assertEquals(
                    PrimitiveSource.COMPILED,
                    rebuilt.lookup(new FakeEngine("two"), A).source());
        }
        try (Granary next = node.openWithoutBucket()) {
            assertEquals(PrimitiveSource.LOCAL, next.lookup(engine, A).source());
            assertEquals(0, next.statistics().count(Counter.RESTORES_QUARANTINED));
        }
    }

    private static List<Path> list(Path directory) throws Exception {
        try (Stream<Path> futures = Files.list(directory)) {
            return futures.toList();
        }
    }
}
