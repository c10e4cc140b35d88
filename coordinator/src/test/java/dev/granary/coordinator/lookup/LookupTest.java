package dev.granary.coordinator.lookup;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.cache.Backend;
import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Deadline;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Target;
import dev.granary.cache.constant.EngineKind;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.FakeBucket;
import dev.granary.coordinator.FakeDescriptor;
import dev.granary.coordinator.FakeEngine;
import dev.granary.coordinator.FakePrimitive;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.LookupResult;
import dev.granary.coordinator.TestNode;
import dev.granary.coordinator.machine.Totals;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.gpu.composite.CompositeDescriptor;
import dev.granary.gpu.composite.CompositeImplementation;
import dev.granary.gpu.composite.EngineSet;
import dev.granary.gpu.composite.NoKernelEngine;
import dev.granary.local.LocalTier;
import dev.granary.local.LocalTierConfig;
import dev.granary.testing.Await;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Lookups with a real local tier, a bucket in memory, and a counting engine. */
class LookupTest {
    private static final FakeDescriptor A = FakeDescriptor.of("a");

    private final Path directory;
    private final FakeBucket bucket = new FakeBucket();
    private final FakeEngine engine = new FakeEngine("one");
    private final TestNode node;

    LookupTest(@TempDir Path directory) {
        this.directory = directory;
        this.node = new TestNode(directory.resolve("local"), bucket);
    }

    @Test
    @DisplayName("a bucket hit fills the local tier, and the next process sends no request")
    void bucketHitFillsTheLocalTier() throws Exception {
        try (Granary other = new TestNode(directory.resolve("other machine"), bucket).open()) {
            assertEquals(PrimitiveSource.COMPILED, other.lookup(engine, A).source());
        }
        try (Granary first = node.open()) {
            assertEquals(PrimitiveSource.BUCKET, first.lookup(engine, A).source());
            assertEquals(PrimitiveSource.MEMORY, first.lookup(engine, A).source());
        }
        int loads = bucket.loads.get();
        try (Granary second = node.open()) {
            assertEquals(PrimitiveSource.LOCAL, second.lookup(engine, A).source());
        }
        assertEquals(loads, bucket.loads.get());
        assertEquals(1, engine.compiles.get());
        assertEquals(1, bucket.stores.get(), "an entry that came from the bucket is not sent back");
    }

    @Test
    @DisplayName("a rejected binary is discarded and compiled once more, and the next process"
            + " uses the new one")
    void refusedBinaryIsRebuiltOnce() throws Exception {
        try (Granary granary = node.openWithoutBucket()) {
            granary.primitive(engine, A);
        }
        FakeEngine updated = new FakeEngine("two");
        updated.restoreBehavior = FakeEngine.RestoreBehavior.REFUSES;
        try (Granary granary = node.openWithoutBucket()) {
            assertEquals(PrimitiveSource.COMPILED, granary.lookup(updated, A).source());
            assertEquals(PrimitiveSource.MEMORY, granary.lookup(updated, A).source());
            assertEquals(1, granary.statistics().count(Counter.RESTORES_REFUSED));
        }
        assertEquals(1, updated.compiles.get());
        assertEquals(1, updated.restores.get());
        updated.restoreBehavior = FakeEngine.RestoreBehavior.ACCEPTS;
        try (Granary granary = node.openWithoutBucket()) {
            LookupResult<FakePrimitive> found = granary.lookup(updated, A);
            assertEquals(PrimitiveSource.LOCAL, found.source());
            assertEquals(
                    FakeEngine.binaries(A, "two"),
                    found.primitive().getBinaries(BinaryKind.KERNEL));
        }
    }

    @ParameterizedTest
    @DisplayName("an entry for another device never reaches the driver: a counted miss with its"
            + " cause, and a new entry replaces it")
    @ValueSource(booleans = {false, true})
    void incompatibleEntry(boolean isInBucket) throws Exception {
        KernelBinaries other =
                KernelBinaries.of(".version 8.7\n.target sm_90\n".getBytes(US_ASCII));
        FakeEngine volta = new FakeEngine(
                "one", new Target(Backend.OPENCL, "nvidia", "Device sm 7.0", "535.1"));
        FakeDescriptor wanted = A.withTarget(volta.target());
        Entry foreign = TestEntries.entry(wanted.getId(), other);
        if (isInBucket) {
            bucket.store(foreign);
        } else {
            try (LocalTier tier = LocalTier.open(
                    LocalTierConfig.builder(directory.resolve("local")).build())) {
                assertThat(tier.store(foreign)).isStored();
            }
        }
        try (Granary granary = node.open()) {
            LookupResult<FakePrimitive> found = granary.lookup(volta, wanted);
            assertEquals(PrimitiveSource.COMPILED, found.source());
            assertEquals(1, granary.statistics().count(Counter.RESTORES_INCOMPATIBLE));
            assertEquals(0, granary.statistics().count(Counter.RESTORES_REFUSED));
            assertTrue(granary.flush(TestNode.LONG));
        }
        assertEquals(0, volta.restores.get());
        try (Granary granary = node.open()) {
            assertEquals(PrimitiveSource.LOCAL, granary.lookup(volta, wanted).source());
            assertEquals(0, granary.statistics().count(Counter.RESTORES_INCOMPATIBLE));
        }
        assertEquals(1, volta.restores.get());
        assertEquals(1, volta.compiles.get());
    }

    @Test
    @DisplayName("an entry without a required kernel is replaced if the source compiles with that"
            + " kernel; else it stays: other descriptors with the same id use it")
    void missingKernel() throws Exception {
        FakeDescriptor wrong = FakeDescriptor.of("wrong");
        bucket.store(TestEntries.entry(wrong.getId(), FakeEngine.binaries(wrong, "elsewhere")));
        try (Granary granary = node.open()) {
            granary.primitive(engine, A);
            granary.primitive(engine, wrong);
            assertTrue(granary.flush(TestNode.LONG));
        }
        FakeEngine updated = new FakeEngine("two");
        updated.restoreBehavior = FakeEngine.RestoreBehavior.LACKS_KERNEL;
        try (Granary granary = node.openWithoutBucket()) {
            assertThrows(CompileException.class, () -> granary.primitive(updated, wrong));
            assertEquals(PrimitiveSource.COMPILED, granary.lookup(updated, A).source());
            assertEquals(2, granary.statistics().count(Counter.RESTORES_REFUSED));
            assertTrue(granary.flush(TestNode.LONG));
        }
        updated.restoreBehavior = FakeEngine.RestoreBehavior.ACCEPTS;
        try (Granary granary = node.openWithoutBucket()) {
            assertEquals(PrimitiveSource.LOCAL, granary.lookup(updated, wrong).source());
            LookupResult<FakePrimitive> found = granary.lookup(updated, A);
            assertEquals(PrimitiveSource.LOCAL, found.source());
            assertEquals(
                    FakeEngine.binaries(A, "two"),
                    found.primitive().getBinaries(BinaryKind.KERNEL));
        }
    }

    @Test
    @DisplayName("without binaries the caller has the primitive, nothing is stored, and it is"
            + " counted")
    void noBinaries() throws Exception {
        engine.binariesTime = FakeEngine.BinariesTime.NEVER;
        try (Granary granary = node.open()) {
            assertEquals("a", granary.primitive(engine, A).descriptor().name());
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(1, granary.statistics().count(Counter.WITHOUT_BINARIES));
            assertThat(node.published.get(A.getId())).isFailed();
        }
        assertEquals(0, bucket.stores.get());
    }

    @Test
    @DisplayName("a local hit that the driver recompiles is counted, and replaced in the directory"
            + " only: it may have come from any layer")
    void degradedHit() throws Exception {
        try (Granary granary = node.openWithoutBucket()) {
            granary.primitive(engine, A);
        }
        FakeEngine updated = new FakeEngine("two");
        updated.restoreBehavior = FakeEngine.RestoreBehavior.RECOMPILES;
        try (Granary granary = node.open()) {
            assertEquals(PrimitiveSource.LOCAL, granary.lookup(updated, A).source());
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(1, granary.statistics().count(Counter.RESTORES_RECOMPILED));
            assertEquals(1, granary.statistics().count(Counter.LOCAL_STORED));
            assertEquals(0, granary.statistics().count(Counter.COMPILED));
        }
        assertEquals(Map.of(), bucket.entries);
        try (Granary granary = node.open()) {
            LookupResult<FakePrimitive> found = granary.lookup(engine, A);
            assertEquals(PrimitiveSource.LOCAL, found.source());
            assertEquals(
                    FakeEngine.binaries(A, "two"),
                    found.primitive().getBinaries(BinaryKind.KERNEL));
        }
    }

    @Test
    @DisplayName("a primitive with the empty id is compiled, counted, and never stored")
    void emptyId() throws Exception {
        FakeDescriptor unknown = FakeDescriptor.notCacheable("unknown");
        try (Granary granary = node.open()) {
            assertEquals(
                    PrimitiveSource.COMPILED, granary.lookup(engine, unknown).source());
            assertEquals(PrimitiveSource.MEMORY, granary.lookup(engine, unknown).source());
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(1, granary.statistics().count(Counter.NOT_CACHEABLE));
            assertEquals(0, granary.statistics().count(Counter.LOCAL_STORED));
        }
        assertEquals(Map.of(), bucket.entries);
        assertEquals(0, bucket.loads.get());
    }

    @Test
    @DisplayName("an entry that no tier has is reported as failed when it is to be published")
    void publishNothing() throws Exception {
        Id never = TestEntries.id("never stored");
        try (Granary granary = node.open()) {
            assertTrue(granary.publish(never));
            assertTrue(granary.flush(TestNode.LONG));
            assertThat(node.published.get(never)).isFailed();
        }
        assertEquals(Map.of(), bucket.entries);
    }

    @Test
    @DisplayName("concurrent lookups share one compile; its failure reaches all and is not cached")
    void failureReachesAllWaiters() throws Exception {
        int threads = 8;
        FakeDescriptor wrong = FakeDescriptor.of("wrong");
        try (Granary granary = node.open();
                ExecutorService pool = Executors.newFixedThreadPool(threads)) {
            engine.beforeCompile = () -> {
                Await.holds(() -> granary.statistics().count(Counter.PROGRAM_MISSES) >= threads);
            };
            List<Future<FakePrimitive>> all = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                all.add(pool.submit(() -> granary.primitive(engine, wrong)));
            }
            for (Future<FakePrimitive> each : all) {
                ExecutionException thrown = assertThrows(ExecutionException.class, each::get);
                assertInstanceOf(CompileException.class, thrown.getCause());
            }
            assertEquals(1, engine.compiles.get());
            engine.beforeCompile = () -> {};
            assertThrows(CompileException.class, () -> granary.primitive(engine, wrong));
            assertEquals(2, engine.compiles.get());
            assertEquals(2, granary.statistics().count(Counter.COMPILE_FAILURES));
        }
    }

    @Test
    @DisplayName("A lookup that waits for the same one of another thread is joined: results and"
            + " counters agree")
    void joined() throws Exception {
        int threads = 8;
        try (Granary granary = node.open();
                ExecutorService pool = Executors.newFixedThreadPool(threads)) {
            engine.beforeCompile = () -> Await.holds(
                    () -> granary.statistics().count(Counter.PROGRAM_MISSES) >= threads);
            List<Future<LookupResult<FakePrimitive>>> all = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                all.add(pool.submit(() -> granary.lookup(engine, A)));
            }
            Map<PrimitiveSource, Integer> sources = new EnumMap<>(PrimitiveSource.class);
            for (Future<LookupResult<FakePrimitive>> each : all) {
                sources.merge(each.get().source(), 1, Integer::sum);
            }
            sources.merge(granary.lookup(engine, A).source(), 1, Integer::sum);
            assertEquals(
                    Map.of(
                            PrimitiveSource.COMPILED, 1,
                            PrimitiveSource.JOINED, threads - 1,
                            PrimitiveSource.MEMORY, 1),
                    sources);
            GranaryStatistics statistics = granary.statistics();
            assertEquals(1, statistics.count(Counter.PROGRAM_HITS));
            assertEquals(threads, statistics.count(Counter.PROGRAM_MISSES));
        }
    }

    @Test
    @DisplayName("find returns what memory, directory or bucket has, fills the directory, and never"
            + " compiles or claims")
    void find() throws Exception {
        try (Granary granary = node.open()) {
            assertEquals(Optional.empty(), granary.find(engine, A));
            assertEquals(0, engine.compiles.get());
            granary.primitive(engine, A);
            assertEquals(
                    PrimitiveSource.MEMORY,
                    granary.find(engine, A).orElseThrow().source());
            assertTrue(granary.flush(TestNode.LONG));
        }
        try (Granary granary = node.open()) {
            LookupResult<FakePrimitive> found = granary.find(engine, A).orElseThrow();
            assertEquals(PrimitiveSource.LOCAL, found.source());
            assertSame(found.primitive(), granary.primitive(engine, A));
            granary.setLocalCapacity(0);
            granary.setPrimitiveCacheCapacity(0);
            assertEquals(
                    PrimitiveSource.BUCKET,
                    granary.find(engine, A).orElseThrow().source());
            granary.setEnabled(false);
            assertEquals(Optional.empty(), granary.find(engine, A));
        }
        assertEquals(1, engine.compiles.get());
    }

    @Test
    @DisplayName("a primitive in memory takes precedence over binaries in any tier")
    void memoryWins() throws Exception {
        try (Granary granary = node.open()) {
            FakePrimitive first = granary.primitive(engine, A);
            assertTrue(granary.flush(TestNode.LONG));
            int loads = bucket.loads.get();
            assertSame(first, granary.primitive(engine, A));
            assertEquals(loads, bucket.loads.get());
            assertEquals(0, engine.restores.get());
            assertEquals(0, granary.statistics().count(Counter.LOCAL_HITS));
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"IS_DOWN", "IS_DAMAGED", "REFUSES_WRITES", "THROWS"})
    @DisplayName("compiling and the local tier work with any failure of the bucket")
    void bucketInTrouble(FakeBucket.Behavior behavior) throws Exception {
        bucket.behavior = behavior;
        try (Granary granary = node.open()) {
            assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, A).source());
            granary.flush(TestNode.LONG);
            assertEquals(1, granary.statistics().count(Counter.LOCAL_STORED));
            GranaryStatistics statistics = granary.statistics();
            assertEquals(
                    behavior == FakeBucket.Behavior.IS_DOWN ? 1 : 0,
                    statistics.count(Counter.LAYER_UNAVAILABLE));
            assertEquals(
                    behavior == FakeBucket.Behavior.IS_DAMAGED ? 1 : 0,
                    statistics.count(Counter.LAYER_DAMAGED));
            assertEquals(0, statistics.count(Counter.LAYER_STORED));
            assertEquals(
                    1,
                    TestNode.closed(granary).count(Counter.UPLOADS_LEFT),
                    "a refusal may be temporary, too");
        }
        try (Granary granary = node.open()) {
            assertEquals(PrimitiveSource.LOCAL, granary.lookup(engine, A).source());
        }
    }

    @Test
    @DisplayName("the counters of a scripted sequence are exact, per tier")
    void countersAreExact() throws Exception {
        FakeDescriptor b = FakeDescriptor.of("b");
        FakeDescriptor c = FakeDescriptor.of("c");
        bucket.store(TestEntries.entry(b.getId(), FakeEngine.binaries(b, "elsewhere")));
        try (Granary granary = node.open()) {
            granary.primitive(engine, A); // compiled
            granary.primitive(engine, A); // memory
            granary.primitive(engine, b); // bucket
            assertTrue(granary.flush(TestNode.LONG));
        }
        try (Granary granary = node.open()) {
            granary.primitive(engine, A); // local
            granary.primitive(engine, b); // local
            granary.primitive(engine, c); // compiled
            granary.primitive(engine, c); // memory
            assertThrows(
                    CompileException.class,
                    () -> granary.primitive(engine, FakeDescriptor.of("wrong")));
            assertTrue(granary.flush(TestNode.LONG));
            GranaryStatistics statistics = granary.statistics();
            assertEquals(
                    List.of(1L, 4L),
                    List.of(
                            statistics.count(Counter.PROGRAM_HITS),
                            statistics.count(Counter.PROGRAM_MISSES)));
            assertEquals(
                    List.of(2L, 2L, 1L),
                    List.of(
                            statistics.count(Counter.LOCAL_HITS),
                            statistics.count(Counter.LOCAL_LOOKUPS)
                                    - statistics.count(Counter.LOCAL_HITS),
                            statistics.count(Counter.LOCAL_STORED)));
            assertEquals(
                    List.of(0L, 2L, 1L),
                    List.of(
                            statistics.count(Counter.LAYER_HITS),
                            statistics.count(Counter.LAYER_LOOKUPS),
                            statistics.count(Counter.LAYER_STORED)));
            assertEquals(
                    List.of(1L, 1L),
                    List.of(
                            statistics.count(Counter.COMPILED),
                            statistics.count(Counter.COMPILE_FAILURES)));
            assertEquals(
                    List.of(0L, 0L, 0L),
                    List.of(
                            statistics.count(Counter.STORES_DROPPED),
                            statistics.count(Counter.UPLOADS_LEFT),
                            statistics.count(Counter.UPLOADS_INHERITED)));
        }
        Map<String, Long> totals = new Totals(node.directory).read();
        assertEquals(2, totals.get("processes"));
        assertEquals(2, totals.get("compiled"));
        assertEquals(2, totals.get("local-hits"));
        assertEquals(1, totals.get("layer-hits"));
    }

    @Test
    @DisplayName("the time saved is the stored compile time less the time to load")
    void timeSaved() throws Exception {
        Duration compile = Duration.ofMinutes(9);
        Entry slow = TestEntries.entry(A.getId(), FakeEngine.binaries(A, "elsewhere"));
        bucket.store(
                Entry.of(A.getId(), slow.binaries(), compile, slow.metadata().orElseThrow()));
        try (Granary granary = node.open()) {
            granary.primitive(engine, A);
            Duration saved = granary.statistics().time(Counter.SAVED_TIME);
            assertTrue(
                    saved.compareTo(compile) < 0 && saved.compareTo(compile.minusMinutes(5)) > 0,
                    saved.toString());
        }
    }

    @Test
    @DisplayName(
            "An exception of an engine reaches the caller, and leaves no mark and no stuck key")
    void brokenEngine() throws Exception {
        try (Granary granary = node.openWithoutBucket()) {
            granary.primitive(engine, A);
        }
        FakeDescriptor b = FakeDescriptor.of("b");
        try (Granary granary = node.openWithoutBucket()) {
            engine.restoreBehavior = FakeEngine.RestoreBehavior.THROWS;
            assertThrows(IllegalArgumentException.class, () -> granary.primitive(engine, A));
            engine.beforeCompile = () -> {
                throw new IllegalStateException("this engine has a bug");
            };
            assertThrows(IllegalStateException.class, () -> granary.primitive(engine, b));
            List<Path> marks = node.sessionFiles(".").stream()
                    .filter(file -> file.endsWith("restoring"))
                    .toList();
            assertEquals(1, marks.size());
            assertEquals("", Files.readString(marks.getFirst()).strip());
            engine.restoreBehavior = FakeEngine.RestoreBehavior.ACCEPTS;
            engine.beforeCompile = () -> {};
            assertEquals(PrimitiveSource.LOCAL, granary.lookup(engine, A).source());
            assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, b).source());
        }
    }

    @Test
    @DisplayName("a primitive whose listener registration fails is returned nevertheless, and"
            + " reported as not stored")
    void brokenListener() throws Exception {
        try (Granary granary = node.open()) {
            assertEquals(
                    PrimitiveSource.COMPILED,
                    granary.lookup(engine, FakeDescriptor.of("listener-breaks")).source());
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(1, granary.statistics().count(Counter.WITHOUT_BINARIES));
            assertThat(node.published.values().iterator().next()).isFailed();
        }
    }

    @Test
    @DisplayName("the binaries of a lazy driver are taken at the first launch, at the latest when"
            + " the process ends")
    void lazyDriver() throws Exception {
        engine.binariesTime = FakeEngine.BinariesTime.AFTER_LAUNCH;
        FakeDescriptor b = FakeDescriptor.of("b");
        try (Granary granary = node.open()) {
            FakePrimitive launched = granary.primitive(engine, A);
            granary.primitive(engine, b);
            assertEquals(0, granary.statistics().count(Counter.LOCAL_STORED));
            launched.launch();
            Await.holds(() -> bucket.entries.containsKey(A.getId()));
            assertFalse(bucket.entries.containsKey(b.getId()));
        }
        assertEquals(Set.of(A.getId(), b.getId()), bucket.entries.keySet());
        assertEquals(2, bucket.stores.get());
    }

    @Test
    @DisplayName("A descriptor or an id of another target than the engine's is refused, also if the"
            + " memory has it, and so is a primitive of another target: it is not stored")
    void otherTarget() throws Exception {
        Target other = new Target(Backend.OPENCL, "other-vendor", "Other Device", "1");
        FakeDescriptor ofOther = A.withTarget(other);
        FakeEngine wrong = new FakeEngine("one") {
            @Override
            public FakePrimitive create(FakeDescriptor descriptor) throws CompileException {
                return super.create(descriptor.withTarget(other));
            }
        };
        FakeDescriptor b = FakeDescriptor.of("b");
        FakeDescriptor idOfOther =
                new FakeDescriptor(b.name(), b.target(), b.getId().withTarget(other));
        FakeEngine wrongId = new FakeEngine("one") {
            @Override
            public FakePrimitive create(FakeDescriptor descriptor) throws CompileException {
                return super.create(idOfOther);
            }
        };
        FakeDescriptor inMemory = FakeDescriptor.of("in memory").withTarget(other);
        try (Granary granary = node.open()) {
            granary.setEnabled(false);
            granary.primitive(new FakeEngine("other", other), inMemory);
            granary.setEnabled(true);
            for (Executable lookup : List.<Executable>of(
                    () -> granary.primitive(engine, ofOther),
                    () -> granary.lookup(engine, ofOther),
                    () -> granary.find(engine, ofOther),
                    () -> granary.primitive(engine, inMemory),
                    () -> granary.lookup(engine, inMemory),
                    () -> granary.find(engine, inMemory),
                    () -> granary.primitive(engine, idOfOther),
                    () -> granary.find(engine, idOfOther),
                    () -> granary.primitive(wrongId, b),
                    () -> granary.primitive(wrong, A))) {
                String message =
                        assertThrows(IllegalArgumentException.class, lookup).toString();
                assertTrue(
                        message.contains(other.path())
                                && message.contains(A.target().path()),
                        message);
            }
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(0, granary.statistics().count(Counter.LOCAL_STORED));
        }
        assertEquals(0, bucket.stores.get());
        assertEquals(0, engine.compiles.get());
    }

    @Test
    @DisplayName("invalidate removes a program from memory and directory; the bucket's is found"
            + " again, and without one it is compiled")
    void invalidate() throws Exception {
        try (Granary granary = node.open()) {
            granary.primitive(engine, A);
            assertTrue(granary.flush(TestNode.LONG));
            granary.invalidate(A);
            assertEquals(0, granary.programCacheSize());
            assertEquals(PrimitiveSource.BUCKET, granary.lookup(engine, A).source());
            assertTrue(granary.flush(TestNode.LONG));
            granary.invalidate(A);
            bucket.entries.clear();
            assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, A).source());
            granary.invalidate(FakeDescriptor.of("never seen"));
            granary.invalidate(FakeDescriptor.notCacheable("without an id"));
        }
        assertEquals(2, engine.compiles.get());
    }

    @Test
    @DisplayName("After close each call throws, also for a kernel in memory; statistics remain")
    void closed() throws Exception {
        record Nothing() {} // a composite primitive that does nothing
        CompositeImplementation<Nothing> nothing = (_, _) -> _ -> {};
        CompositeDescriptor<Nothing> composite =
                CompositeDescriptor.builder(A.target(), new Nothing(), nothing).build();
        NoKernelEngine kernels = new NoKernelEngine(A.target());
        Granary granary = node.open();
        granary.primitive(engine, A);
        granary.close();
        granary.close();
        for (Executable call : List.<Executable>of(
                () -> granary.primitive(engine, A),
                () -> granary.lookup(engine, A),
                () -> granary.find(engine, A),
                () -> granary.find(engine, A, Deadline.NONE),
                () -> granary.primitive(kernels, composite),
                () -> granary.primitive(EngineSet.of(kernels), composite),
                () -> granary.invalidate(A),
                () -> granary.publish(A.getId()),
                granary::connect,
                () -> granary.flush(TestNode.LONG),
                granary::constants,
                granary::localDirectory,
                () -> granary.beginTrial(A.getId(), A.getId().hash()),
                () -> granary.isEnabled(Backend.OPENCL, EngineKind.GPU),
                () -> granary.setLocalCapacity(0),
                () -> granary.setEnabled(Backend.OPENCL, EngineKind.GPU, false),
                () -> granary.setEnabled(true),
                () -> granary.setPrimitiveCacheCapacity(1))) {
            assertEquals(
                    "This Granary is closed",
                    assertThrows(IllegalStateException.class, call).getMessage());
        }
        assertEquals(1, granary.statistics().count(Counter.COMPILED));
        assertEquals(1, granary.programCacheSize());
    }
}
