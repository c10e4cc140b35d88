package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.machine.Totals;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.composite.CompositeHandle;
import dev.granary.gpu.composite.CompositePrimitive;
import dev.granary.gpu.composite.MatMul;
import dev.granary.gpu.opencl.NeedsPocl;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.gpu.opencl.SpyDriver;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Composite primitives with all tiers: memory, local tier, bucket, and a real compiler. */
@NeedsPocl
class CompositeLookupTest {
    private final Path directory;
    private final FakeBucket bucket = new FakeBucket();
    private final TestNode node;
    private final SpyDriver driver = new SpyDriver();

    CompositeLookupTest(@TempDir Path directory) {
        this.directory = directory;
        this.node = new TestNode(directory.resolve("local"), bucket);
    }

    private void multiply(Granary granary, int inner) throws Exception {
        try (OpenClEngine engine = driver.open();
                CompositeHandle handle = granary.primitive(
                                engine, MatMul.packed(engine.target(), 8, inner, 4))
                        .open(engine)) {
            MatMul.check(engine, handle);
        }
    }

    /** Asserts primitive hits and creations, and nested hits and creations. */
    private static void assertPrimitives(
            Granary granary, long hits, long created, long nestedHits, long nestedCreated) {
        GranaryStatistics statistics = granary.statistics();
        assertEquals(
                List.of(hits, created, nestedHits, nestedCreated),
                List.of(
                        statistics.count(Counter.COMPOSITE_HITS),
                        statistics.count(Counter.COMPOSITES_CREATED),
                        statistics.count(Counter.NESTED_HITS),
                        statistics.count(Counter.NESTED_CREATED)));
    }

    /** Asserts kernel hits, local hits, bucket hits, compiles, and no repeated compile. */
    private static void assertKernels(
            Granary granary, long memory, long local, long fromBucket, long compiled) {
        GranaryStatistics statistics = granary.statistics();
        assertEquals(
                List.of(memory, local, fromBucket, compiled, 0L),
                List.of(
                        statistics.count(Counter.PROGRAM_HITS),
                        statistics.count(Counter.LOCAL_HITS),
                        statistics.layers().getFirst().count(Counter.LAYER_HITS),
                        statistics.count(Counter.COMPILED),
                        statistics.count(Counter.COMPILED_AGAIN)));
    }

    @Test
    @DisplayName(
            "primitive, nested, kernel, local and bucket hits and misses are counted separately"
                    + " and exactly")
    void statistics() throws Exception {
        try (Granary other = new TestNode(directory.resolve("other machine"), bucket).open()) {
            multiply(other, 12); // product, reorder, activation
            assertPrimitives(other, 0, 1, 0, 2);
            assertKernels(other, 0, 0, 0, 3);
            multiply(other, 12);
            assertPrimitives(other, 1, 1, 0, 2);
            assertKernels(other, 0, 0, 0, 3);
            multiply(other, 16); // the activation is cached; product and reorder are not
            assertPrimitives(other, 1, 2, 1, 3);
            assertKernels(other, 0, 0, 0, 5);
        }
        try (Granary granary = node.open()) {
            multiply(granary, 12);
            assertPrimitives(granary, 0, 1, 0, 2);
            assertKernels(granary, 0, 0, 3, 0);
        }
        try (Granary granary = node.open()) {
            multiply(granary, 12);
            assertKernels(granary, 0, 3, 0, 0);
            granary.setPrimitiveCacheCapacity(0);
            granary.setPrimitiveCacheCapacity(10);
            try (OpenClEngine engine = driver.open();
                    CompositeHandle first = granary.primitive(
                                    engine, MatMul.packed(engine.target(), 8, 12, 4))
                            .open(engine);
                    CompositeHandle wider = granary.primitive(
                                    engine, MatMul.packed(engine.target(), 4, 12, 8))
                            .open(engine)) {
                MatMul.check(engine, first);
                MatMul.check(engine, wider);
            }
            assertPrimitives(granary, 0, 3, 1, 5);
            assertKernels(granary, 0, 6, 0, 2);
        }
        assertEquals(7, driver.compiles());
        Map<String, Long> totals = new Totals(node.directory).read();
        assertEquals(
                List.of(0L, 4L, 1L, 7L, 0L, 6L, 3L, 2L, 0L),
                List.of(
                                "composite-hits",
                                "composites-created",
                                "nested-hits",
                                "nested-created",
                                "program-hits",
                                "local-hits",
                                "layer-hits",
                                "compiled",
                                "compiled-again")
                        .stream()
                        .map(totals::get)
                        .toList());
    }

    @Test
    @DisplayName(
            "A program of two primitives is compiled and cached once: the second use is a kernel"
                    + " hit")
    void sharedKernels() throws Exception {
        try (Granary granary = node.openWithoutBucket();
                OpenClEngine engine = driver.open()) {
            KernelDescriptor program = SharedProgramPrimitives.program(engine.target());
            try (CompositeHandle left = granary.primitive(
                                    engine,
                                    SharedProgramPrimitives.descriptor(engine.target(), "left"))
                            .open(engine);
                    CompositeHandle right = granary.primitive(
                                    engine,
                                    SharedProgramPrimitives.descriptor(engine.target(), "right"))
                            .open(engine)) {
                assertEquals(
                        program, left.primitive().programs().iterator().next().descriptor());
                assertEquals(
                        left.primitive().programs().iterator().next(),
                        right.primitive().programs().iterator().next());
            }
            GranaryStatistics statistics = granary.statistics();
            assertEquals(
                    List.of(2L, 1L, 1L, 1L),
                    List.of(
                            statistics.count(Counter.COMPOSITES_CREATED),
                            statistics.count(Counter.PROGRAM_HITS),
                            statistics.count(Counter.PROGRAM_MISSES),
                            statistics.count(Counter.COMPILED)));
        }
        assertEquals(1, driver.compiles());
    }

    @Test
    @DisplayName("a primitive in memory takes precedence over binaries in any tier, without another"
            + " lookup")
    void memoryWins() throws Exception {
        try (Granary granary = node.open()) {
            multiply(granary, 12);
            assertTrue(granary.flush(TestNode.LONG));
            assertTrue(
                    bucket.entries.size() == 3
                            && granary.statistics().count(Counter.LOCAL_STORED) == 3,
                    "all three are stored");
            int loads = bucket.loads.get();
            long local = granary.statistics().count(Counter.LOCAL_HITS)
                    + granary.statistics().count(Counter.LOCAL_LOOKUPS)
                    - granary.statistics().count(Counter.LOCAL_HITS);
            multiply(granary, 12);
            for (var entry : bucket.entries.values()) {
                assertTrue(granary.publish(entry.id()));
            }
            multiply(granary, 12);
            assertEquals(loads, bucket.loads.get());
            assertEquals(
                    local,
                    granary.statistics().count(Counter.LOCAL_HITS)
                            + granary.statistics().count(Counter.LOCAL_LOOKUPS)
                            - granary.statistics().count(Counter.LOCAL_HITS));
        }
        assertEquals(3, driver.compiles());
    }

    @Test
    @DisplayName(
            "If an engine is closed before the cache, its binaries were taken at close, and are"
                    + " stored")
    void engineClosedFirst() throws Exception {
        try (Granary granary = node.open()) {
            try (OpenClEngine engine = driver.open()) {
                granary.primitive(engine, SharedProgramPrimitives.program(engine.target()));
            }
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(0, granary.statistics().count(Counter.WITHOUT_BINARIES));
        }
        try (Granary granary = node.open();
                OpenClEngine engine = driver.open()) {
            assertTrue(node.bucket.entries.containsKey(
                    SharedProgramPrimitives.program(engine.target()).getId()));
            assertEquals(
                    PrimitiveSource.LOCAL,
                    granary.lookup(engine, SharedProgramPrimitives.program(engine.target()))
                            .source());
        }
        assertEquals(1, driver.compiles());
    }

    @Test
    @DisplayName("a primitive with the empty id is compiled once per process, even with a new"
            + " engine per call")
    void notCacheable() throws Exception {
        try (Granary granary = node.open()) {
            for (int i = 0; i < 5; i++) {
                try (OpenClEngine engine = driver.open()) {
                    KernelProgram primitive = granary.primitive(
                            engine, SharedProgramPrimitives.notCacheable(engine.target()));
                    engine.load(primitive).close();
                }
            }
            assertEquals(
                    List.of(1L, 0L, 1L),
                    List.of(
                            granary.statistics().count(Counter.COMPILED),
                            granary.statistics().count(Counter.COMPILED_AGAIN),
                            granary.statistics().count(Counter.NOT_CACHEABLE)));
        }
        assertEquals(1, driver.compiles());
        assertEquals(Map.of(), bucket.entries);
    }

    @Test
    @DisplayName("Repeated compiles, because the driver returns no binaries, are counted")
    void compiledAgain() throws Exception {
        driver.withholdBinaries();
        try (Granary granary = node.open()) {
            for (int i = 0; i < 4; i++) {
                try (OpenClEngine engine = driver.open()) {
                    engine.load(granary.primitive(
                                    engine, SharedProgramPrimitives.program(engine.target())))
                            .close();
                    assertEquals(
                            List.of((long) i, 1L),
                            List.of(
                                    granary.statistics().count(Counter.COMPILED_AGAIN),
                                    granary.statistics().count(Counter.COMPILED)));
                }
            }
            assertTrue(granary.flush(TestNode.LONG));
        }
        assertEquals(4, driver.compiles());
        assertEquals(3, new Totals(node.directory).read().get("compiled-again"));
        assertEquals(0, bucket.stores.get());
    }

    @Test
    @DisplayName("12 threads with an engine per call: each of six primitives is created once, each"
            + " program compiled once")
    void enginesPerCall() throws Exception {
        try (Granary granary = node.open();
                ExecutorService threads = Executors.newFixedThreadPool(12)) {
            Callable<Integer> work = () -> {
                for (int i = 0; i < 6; i++) {
                    multiply(granary, 4 * (i + 1));
                }
                return 0;
            };
            for (Future<Integer> future :
                    new ArrayList<>(threads.invokeAll(Collections.nCopies(12, work)))) {
                future.get();
            }
            assertPrimitives(granary, 66, 6, 5, 7);
            assertKernels(granary, 0, 0, 0, 13);
            assertTrue(granary.flush(TestNode.LONG));
        }
        assertEquals(13, driver.compiles());
        assertEquals(13, bucket.entries.size());
        assertEquals(Map.of(), driver.alive());
        try (Granary next = node.open()) {
            multiply(next, 24);
            assertKernels(next, 0, 3, 0, 0);
        }
    }

    @Test
    @DisplayName(
            "with a configured capacity of 0 each call creates a primitive, from kernels of the"
                    + " local tier")
    void capacityZero() throws Exception {
        try (Granary granary = node.open(node.config().primitiveCacheCapacity(0).build())) {
            multiply(granary, 12);
            assertTrue(granary.flush(TestNode.LONG));
            multiply(granary, 12);
            GranaryStatistics statistics = granary.statistics();
            assertEquals(
                    List.of(2L, 0L, 0, 0),
                    List.of(
                            statistics.count(Counter.COMPOSITES_CREATED),
                            statistics.count(Counter.COMPOSITE_HITS),
                            granary.compositeCacheSize(),
                            granary.primitiveCacheCapacity()));
            assertEquals(3, granary.statistics().count(Counter.LOCAL_HITS));
        }
        assertEquals(3, driver.compiles());
    }

    @Test
    @DisplayName("64 threads request one composite primitive: it is created once, and each of"
            + " its programs compiled once")
    void manyThreads() throws Exception {
        try (Granary granary = node.open();
                OpenClEngine engine = driver.open();
                ExecutorService threads = Executors.newFixedThreadPool(64)) {
            Set<CompositePrimitive> found = ConcurrentHashMap.newKeySet();
            Callable<Boolean> work = () ->
                    found.add(granary.primitive(engine, MatMul.packed(engine.target(), 8, 12, 4)));
            for (Future<Boolean> future : threads.invokeAll(Collections.nCopies(64, work))) {
                future.get();
            }
            assertEquals(1, found.size());
            assertPrimitives(granary, 63, 1, 0, 2);
            assertKernels(granary, 0, 0, 0, 3);
        }
        assertEquals(3, driver.compiles());
        assertEquals(3, bucket.entries.size());
    }

    @Test
    @DisplayName("A part that was evicted or is refused by the driver is compiled again, and only"
            + " that part")
    void missingParts() throws Exception {
        try (Granary ci = new TestNode(directory.resolve("ci"), bucket).open()) {
            multiply(ci, 12);
        }
        assertEquals(3, bucket.entries.size());
        List<Id> parts = List.copyOf(bucket.entries.keySet());
        bucket.entries.remove(parts.getFirst());
        try (Granary first = new TestNode(directory.resolve("first"), bucket).open()) {
            multiply(first, 12);
            assertKernels(first, 0, 0, 2, 1);
        }
        assertEquals(3, bucket.entries.size(), "the part was published again");
        bucket.entries.put(
                parts.getLast(),
                TestEntries.entry(parts.getLast(), KernelBinaries.of(new byte[1000])));
        try (Granary second = new TestNode(directory.resolve("second"), bucket).open()) {
            multiply(second, 12);
            assertKernels(second, 0, 0, 3, 1);
            assertEquals(1, second.statistics().count(Counter.RESTORES_REFUSED));
        }
        assertEquals(5, driver.compiles());
    }

    @Test
    @DisplayName("Parts of a new composite primitive are loaded in parallel: all are requested"
            + " before the first answer")
    void partsInParallel() throws Exception {
        try (Granary ci = new TestNode(directory.resolve("ci"), bucket).open()) {
            multiply(ci, 12);
        }
        CyclicBarrier allRequested = new CyclicBarrier(3);
        ScriptedCache layer = new ScriptedCache();
        layer.onLoad = id -> {
            try {
                allRequested.await();
            } catch (InterruptedException | BrokenBarrierException e) {
                throw new IllegalStateException(e);
            }
            return bucket.load(id);
        };
        try (Granary granary = Granary.builder()
                .config(new TestNode(directory.resolve("node"), bucket)
                        .config()
                        .bucketWait(Duration.ofMinutes(1))
                        .build())
                .layer("meeting", layer)
                .open()) {
            multiply(granary, 12);
            assertKernels(granary, 0, 0, 3, 0);
        }
    }
}
