package dev.granary.coordinator.publish;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.cache.StoreResult;
import dev.granary.cache.Target;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.FakeBucket;
import dev.granary.coordinator.FakeDescriptor;
import dev.granary.coordinator.FakeEngine;
import dev.granary.coordinator.FakePrimitive;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.TestNode;
import dev.granary.coordinator.machine.MachineClaims.Claim;
import dev.granary.coordinator.machine.Totals;
import dev.granary.coordinator.machine.UploadOutbox;
import dev.granary.coordinator.observe.Counters;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.tier.CompileTimes;
import dev.granary.coordinator.tier.TestTiers;
import dev.granary.coordinator.tier.Tiers;
import dev.granary.testing.Await;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Waits for write-behind work, and its end. */
class WriteBehindQueueTest {
    private final FakeBucket bucket = new FakeBucket();
    private final FakeEngine engine = new FakeEngine("one");
    private final TestNode node;

    WriteBehindQueueTest(@TempDir Path directory) {
        this.node = new TestNode(directory.resolve("local"), bucket);
    }

    @Test
    @DisplayName("A flush after one that timed out waits for the same work")
    void flushAfterTimeout() throws Exception {
        bucket.behavior = FakeBucket.Behavior.HANGS;
        try (Granary granary = node.open("s3://test", Duration.ZERO)) {
            for (int i = 0; i < 50; i++) {
                granary.primitive(engine, FakeDescriptor.of("k" + i));
                assertFalse(granary.flush(Duration.ZERO));
            }
            assertFalse(granary.flush(Duration.ofMillis(200)));
            Await.holds(() -> node.sessionFiles(UploadOutbox.DIRECTORY).size() == 50);
        }
    }

    @Test
    @DisplayName("compile time spent at the launch is counted once: the sum is that of the entries")
    void compiledAtLaunch() throws Exception {
        engine.binariesTime = FakeEngine.BinariesTime.AFTER_LAUNCH;
        int kernels = 3;
        try (Granary granary = node.open()) {
            for (int i = 0; i < kernels; i++) {
                granary.primitive(engine, FakeDescriptor.of("k" + i)).launch();
            }
            assertTrue(granary.flush(TestNode.LONG));
            assertTrue(granary.flush(TestNode.LONG));
            Duration ofEntries = bucket.entries.values().stream()
                    .map(Entry::compileTime)
                    .reduce(Duration.ZERO, Duration::plus);
            assertEquals(FakePrimitive.COMPILE_TIME.multipliedBy(kernels), ofEntries);
            assertEquals(ofEntries, granary.statistics().time(Counter.COMPILE_TIME));
        }
    }

    /** A primitive with that compile time, which grows by as much when its binaries are read. */
    private static final class Timed implements Primitive {
        private final FakeDescriptor descriptor;
        private volatile Duration compileTime = Duration.ofNanos(1);

        Timed(FakeDescriptor descriptor) {
            this.descriptor = descriptor;
        }

        @Override
        public FakeDescriptor descriptor() {
            return descriptor;
        }

        @Override
        public Origin origin() {
            return Origin.COMPILED;
        }

        @Override
        public KernelBinaries getBinaries(BinaryKind kind) {
            compileTime = Duration.ofNanos(3);
            return FakeEngine.binaries(descriptor, "one");
        }

        @Override
        public Duration compileTime() {
            return compileTime;
        }
    }

    /** An engine with two steps. */
    private record TwoSteps(Target target) implements Engine<FakeDescriptor, Timed> {
        @Override
        public Timed create(FakeDescriptor descriptor) {
            return new Timed(descriptor);
        }

        @Override
        public Timed create(FakeDescriptor descriptor, StepProvider steps) throws CompileException {
            if (descriptor.name().equals("last")) {
                steps.lookup(this, FakeDescriptor.of("earlier"));
            }
            return create(descriptor);
        }

        @Override
        public Timed create(FakeDescriptor descriptor, KernelBinaries binaries, BinaryKind kind)
                throws RestoreException {
            throw new RestoreException("a test");
        }

        @Override
        public void close() {}
    }

    @Test
    @DisplayName("The compile time of two steps is the sum of the two, without the lookup of the"
            + " earlier one, which waits for the tiers")
    void twoSteps() throws Exception {
        try (Granary granary = node.open()) {
            granary.primitive(new TwoSteps(TestEntries.TARGET), FakeDescriptor.of("last"));
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(2, bucket.entries.size());
            bucket.entries
                    .values()
                    .forEach(entry -> assertEquals(Duration.ofNanos(3), entry.compileTime()));
            assertEquals(Duration.ofNanos(6), granary.statistics().time(Counter.COMPILE_TIME));
        }
    }

    @Test
    @DisplayName("binaries that a flush took before the launch are not taken again")
    void takenOnce() throws Exception {
        engine.binariesTime = FakeEngine.BinariesTime.AFTER_LAUNCH;
        try (Granary granary = node.open()) {
            FakePrimitive early = granary.primitive(engine, FakeDescriptor.of("a"));
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(1, granary.statistics().count(Counter.LOCAL_STORED));
            early.launch();
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(1, granary.statistics().count(Counter.LOCAL_STORED));
        }
    }

    @Test
    @DisplayName(
            "Threads may flush while others look up; each flush covers the earlier lookups of its"
                    + " thread")
    void concurrentFlushes() throws Exception {
        int threads = 6;
        try (Granary granary = node.open();
                ExecutorService pool = Executors.newFixedThreadPool(threads)) {
            List<Future<Boolean>> all = new ArrayList<>();
            for (int t = 0; t < threads; t++) {
                int thread = t;
                all.add(pool.submit(() -> {
                    boolean isPublished = true;
                    for (int i = 0; i < 30; i++) {
                        FakeDescriptor descriptor = FakeDescriptor.of("k" + thread + "-" + i);
                        granary.primitive(engine, descriptor);
                        isPublished &= granary.flush(TestNode.LONG)
                                && bucket.entries.containsKey(descriptor.getId());
                    }
                    return isPublished;
                }));
            }
            for (Future<Boolean> each : all) {
                assertTrue(each.get());
            }
            assertEquals(
                    threads * 30L,
                    granary.statistics().layers().getFirst().count(Counter.LAYER_STORED));
        }
    }

    @Test
    @DisplayName("An infinite limit does not overflow, and a flush of an idle instance returns at"
            + " once")
    void limits() throws Exception {
        Granary granary = node.open();
        granary.primitive(engine, FakeDescriptor.of("a"));
        assertTrue(granary.flush(Duration.ofSeconds(Long.MAX_VALUE)));
        assertTrue(granary.flush(Duration.ofSeconds(Long.MAX_VALUE)));
        granary.close();
    }

    @Test
    @DisplayName("A lazy primitive that is launched after close has no effect")
    void launchAfterClose() throws Exception {
        engine.binariesTime = FakeEngine.BinariesTime.AFTER_LAUNCH;
        FakePrimitive late;
        Granary granary = node.open();
        try (granary) {
            late = granary.primitive(engine, FakeDescriptor.of("a"));
        }
        late.launch();
        assertEquals(1, bucket.entries.size(), "close took the binaries");
        assertEquals(0, granary.statistics().count(Counter.STORES_DROPPED));
    }

    @Test
    @DisplayName("A lazy primitive that came after the last flush has one result, also if it is"
            + " launched after the end")
    void launchAfterEnd() throws Exception {
        engine.binariesTime = FakeEngine.BinariesTime.AFTER_LAUNCH;
        List<Id> results = new ArrayList<>();
        Counters counters = new Counters();
        Tiers tiers = new Tiers(
                TestTiers.local(bucket),
                Optional.empty(),
                List.of(),
                new CompileTimes(),
                TestNode.LONG);
        FakePrimitive late = engine.create(FakeDescriptor.of("a"));
        WriteBehindQueue queue = new WriteBehindQueue(
                tiers,
                Optional.empty(),
                counters,
                InstantSource.system(),
                Optional.empty(),
                (_, id, _) -> results.add(id));
        queue.compiled(late, 0, Claim.NONE);
        queue.close();
        late.launch();
        assertEquals(List.of(late.descriptor().getId()), results);
        assertEquals(1, counters.sum(Counter.STORES_DROPPED));
    }

    @Test
    @DisplayName("A store that throws, against its contract, does not block the uploads")
    void bucketThrows() throws Exception {
        bucket.behavior = FakeBucket.Behavior.THROWS;
        try (Granary granary = node.open()) {
            for (int i = 0; i < 20; i++) {
                granary.primitive(engine, FakeDescriptor.of("k" + i));
            }
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(
                    20,
                    node.published.values().stream()
                            .filter(StoreResult.Failed.class::isInstance)
                            .count());
            bucket.behavior = FakeBucket.Behavior.WORKS;
            granary.primitive(engine, FakeDescriptor.of("last"));
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(1, bucket.entries.size());
            assertEquals(20, TestNode.closed(granary).count(Counter.UPLOADS_LEFT));
        }
        assertEquals(20, node.sessionFiles(UploadOutbox.DIRECTORY).size());
    }

    @Test
    @DisplayName("uploads in progress or queued at close are counted once")
    void leftIsCountedOnce() throws Exception {
        bucket.behavior = FakeBucket.Behavior.HANGS;
        Granary granary = node.open("s3://test", Duration.ofMillis(50));
        for (int i = 0; i < 12; i++) {
            granary.primitive(engine, FakeDescriptor.of("k" + i));
        }
        Await.holds(() -> node.sessionFiles(UploadOutbox.DIRECTORY).size() >= 12);
        granary.close();
        Await.holds(() -> node.published.size() >= 8);
        assertEquals(12, granary.statistics().count(Counter.UPLOADS_LEFT));
        assertEquals(12, new Totals(node.directory).read().get("compiled"));
    }
}
