package dev.granary.coordinator.publish;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.StoreResult;
import dev.granary.coordinator.FakeBucket;
import dev.granary.coordinator.FakeDescriptor;
import dev.granary.coordinator.FakeEngine;
import dev.granary.coordinator.FakePrimitive;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.TestNode;
import dev.granary.coordinator.session.UploadOutbox;
import dev.granary.coordinator.statistics.LifetimeStatistics;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Waiting for what happens behind the caller, and ending it. */
class WriteBehindQueueTest {
    private final FakeBucket bucket = new FakeBucket();
    private final FakeEngine engine = new FakeEngine("one");
    private final TestNode node;

    WriteBehindQueueTest(@TempDir Path directory) {
        this.node = new TestNode(directory.resolve("local"), bucket);
    }

    @Test
    @DisplayName("Flushing again after a flush that ran out of time waits for the same work")
    void flushAfterTimeout() throws Exception {
        bucket.mood = FakeBucket.Mood.HANGS;
        try (Granary granary = node.open("s3://test", Duration.ZERO)) {
            for (int i = 0; i < 50; i++) {
                granary.primitive(engine, FakeDescriptor.of("k" + i));
                assertFalse(granary.flush(Duration.ZERO));
            }
            assertFalse(granary.flush(Duration.ofMillis(200)));
            while (granary.statistics().local().stored() + granary.statistics().local().failed() < 50) { // a busy machine may give a store up
                Thread.sleep(1);
            }
        }
    }

    @Test
    @DisplayName("O1 U9 what a driver compiles at the launch is in the sum of compile times, once: the sum is that of the entries")
    void compiledAtLaunch() throws Exception {
        engine.giving = FakeEngine.Binaries.AFTER_LAUNCH;
        int kernels = 3;
        try (Granary granary = node.open()) {
            for (int i = 0; i < kernels; i++) {
                granary.primitive(engine, FakeDescriptor.of("k" + i)).launch();
            }
            assertTrue(granary.flush(TestNode.LONG));
            Duration atLeast = FakePrimitive.COMPILE_TIME.multipliedBy(kernels);
            assertTrue(granary.statistics().compileTime().compareTo(atLeast) >= 0, () -> granary.statistics().compileTime() + " is less than " + atLeast);
            assertTrue(granary.flush(TestNode.LONG));
        }
    }

    @Test
    @DisplayName("M5 what a flush took before its launch is not taken again at the launch")
    void takenOnce() throws Exception {
        engine.giving = FakeEngine.Binaries.AFTER_LAUNCH;
        try (Granary granary = node.open()) {
            FakePrimitive early = granary.primitive(engine, FakeDescriptor.of("a"));
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(1, granary.statistics().local().stored());
            early.launch();
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(1, granary.statistics().local().stored() + granary.statistics().local().duplicates());
        }
    }

    @Test
    @DisplayName("Many threads may flush while others look up; each flush covers what its thread has got before")
    void concurrentFlushes() throws Exception {
        int threads = 6;
        try (Granary granary = node.open(); ExecutorService pool = Executors.newFixedThreadPool(threads)) {
            List<Future<Boolean>> all = new ArrayList<>();
            for (int t = 0; t < threads; t++) {
                int thread = t;
                all.add(pool.submit(() -> {
                    boolean isThere = true;
                    for (int i = 0; i < 30; i++) {
                        FakeDescriptor mine = FakeDescriptor.of("k" + thread + "-" + i);
                        granary.primitive(engine, mine);
                        isThere &= granary.flush(TestNode.LONG) && bucket.entries.containsKey(mine.getId());
                    }
                    return isThere;
                }));
            }
            for (Future<Boolean> one : all) {
                assertTrue(one.get());
            }
            assertEquals(threads * 30L, granary.statistics().layers().getFirst().results().stored());
        }
    }

    @Test
    @DisplayName("An endless limit is no overflow, and flushing an idle or closed Granary returns at once")
    void limits() throws Exception {
        Granary granary = node.open();
        granary.primitive(engine, FakeDescriptor.of("a"));
        assertTrue(granary.flush(Duration.ofSeconds(Long.MAX_VALUE)));
        granary.close();
        granary.close();
        assertTrue(granary.flush(Duration.ofSeconds(Long.MAX_VALUE)));
    }

    @Test
    @DisplayName("A lazy primitive that is launched after the end is counted as dropped and disturbs nobody")
    void launchAfterClose() throws Exception {
        engine.giving = FakeEngine.Binaries.AFTER_LAUNCH;
        FakePrimitive late;
        Granary granary = node.open();
        try (granary) {
            late = granary.primitive(engine, FakeDescriptor.of("a"));
        }
        late.launch();
        assertEquals(1, bucket.entries.size(), "close took the binaries");
        assertEquals(0, granary.statistics().dropped());
    }

    @Test
    @DisplayName("A store that throws, against its contract, does not keep the uploads from ending")
    void bucketThrows() throws Exception {
        bucket.mood = FakeBucket.Mood.THROWS;
        try (Granary granary = node.open()) {
            for (int i = 0; i < 20; i++) {
                granary.primitive(engine, FakeDescriptor.of("k" + i));
            }
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(20, granary.statistics().leftForLater());
            assertEquals(20, node.published.values().stream().filter(StoreResult.Failed.class::isInstance).count());
            bucket.mood = FakeBucket.Mood.WORKS;
            granary.primitive(engine, FakeDescriptor.of("last"));
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(1, bucket.entries.size());
        }
        assertEquals(20, node.sessionFiles(UploadOutbox.DIRECTORY).size());
    }

    @Test
    @DisplayName("R21 what was under way or waited at the end is counted once")
    void leftIsCountedOnce() throws Exception {
        bucket.mood = FakeBucket.Mood.HANGS;
        Granary granary = node.open("s3://test", Duration.ofMillis(50));
        for (int i = 0; i < 12; i++) {
            granary.primitive(engine, FakeDescriptor.of("k" + i));
        }
        while (node.sessionFiles(UploadOutbox.DIRECTORY).size() < 12) {
            Thread.onSpinWait();
        }
        granary.close();
        while (node.published.size() < 8) { // the workers that were interrupted
            Thread.onSpinWait();
        }
        assertEquals(12, granary.statistics().leftForLater());
        assertEquals(12, new LifetimeStatistics(node.directory).read().get("compiled"));
    }
}
