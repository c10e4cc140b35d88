package dev.granary.coordinator;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.coordinator.statistics.GranaryStatistics.LayerStatistics;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.coordinator.tier.TestTiers;
import dev.granary.s3.BucketTier;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.contract.FaultyS3;
import dev.granary.s3.contract.S3Request;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Complete lookups with a real local tier and a real bucket, with every fault at every request. */
class BucketFaultsTest {
    private static final int MAX_CONCURRENT = 12; // most of them wait
    private static final FakeDescriptor A = FakeDescriptor.of("a");
    private static final Entry ELSEWHERE =
            TestEntries.entry(A.getId(), FakeEngine.binaries(A, "elsewhere"));
    private static final Duration HANG = Duration.ofSeconds(10);

    /** State of the kernel in the bucket. */
    enum BucketState {
        NOTHING,
        ENTRY,
        DAMAGE
    }

    /** A request of a run without faults, with its number among those of its kind. */
    private record FaultPoint(String operation, boolean isOfEntry, int number) {}

    private final Path directory;

    BucketFaultsTest(@TempDir Path directory) {
        this.directory = directory;
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName("with any fault at any request the caller has a correct primitive, and all"
            + " is counted once")
    @Tag("exhaustive")
    void everyFault(BucketState bucketState) throws Exception {
        List<FaultPoint> points = new ArrayList<>();
        try (Run run = new Run(bucketState, "clean", FaultyBucket.LONG)) {
            run.lookup(FaultPlan.SOUND);
            Map<List<Object>, Integer> numbers = new HashMap<>();
            for (S3Request request : run.requests()) {
                int number = numbers.merge(
                                List.of(request.operation(), isOfEntry(request)), 1, Integer::sum)
                        - 1;
                points.add(new FaultPoint(request.operation(), isOfEntry(request), number));
            }
        }
        assertFalse(points.isEmpty());
        List<Future<?>> runs = new ArrayList<>();
        try (ExecutorService threads = Executors.newFixedThreadPool(MAX_CONCURRENT)) {
            for (FaultPoint point : points) {
                for (Fault fault : Fault.each()) {
                    String name = bucketState + "-" + runs.size();
                    runs.add(threads.submit(() -> run(bucketState, name, point, fault)));
                }
            }
            for (Future<?> run : runs) {
                run.get();
            }
        }
        System.out.println("granary.faults: lookup with " + bucketState + " in the bucket: "
                + points.size() + " requests, " + runs.size() + " runs");
    }

    private static boolean isOfEntry(S3Request request) {
        return request.key().contains(A.getId().hash().hex());
    }

    private Void run(BucketState bucketState, String name, FaultPoint point, Fault fault)
            throws Exception {
        try (Run run = new Run(
                bucketState, name, fault.isSilent() ? FaultyBucket.SHORT : FaultyBucket.LONG)) {
            run.lookup(FaultPlan.once(
                    request -> request.operation().equals(point.operation())
                            && isOfEntry(request) == point.isOfEntry(),
                    point.number(),
                    fault));
            run.verifyRecovery();
        } catch (Exception | AssertionError e) {
            throw new AssertionError(
                    fault + " at " + point + " with " + bucketState + " in the bucket", e);
        }
        return null;
    }

    /** One machine that looks up one kernel. */
    private final class Run implements AutoCloseable {
        private final FaultyBucket bucket = new FaultyBucket();
        private final FakeEngine engine = new FakeEngine("one");
        private final Map<Id, StoreResult> published = new ConcurrentHashMap<>();
        private final Path local;
        private final Duration limit;
        private final boolean isShort;
        private final BucketTier tier;
        private final int firstRequest;
        private final BucketState bucketState;

        Run(BucketState bucketState, String name, Duration requestTimeout) throws IOException {
            this.bucketState = bucketState;
            this.local = directory.resolve(name);
            this.limit = requestTimeout.multipliedBy(3);
            this.isShort = requestTimeout.equals(FaultyBucket.SHORT);
            if (bucketState != BucketState.NOTHING) {
                bucket.store(ELSEWHERE);
            }
            if (bucketState == BucketState.DAMAGE) {
                bucket.damage(ELSEWHERE);
            }
            this.tier = bucket.faulty(requestTimeout);
            this.firstRequest = bucket.faulty.requests();
        }

        private Granary open(BucketTier over) throws Exception {
            GranaryConfig config = GranaryConfig.builder()
                    .environment(Map.of("XDG_CONFIG_HOME", local + "-no-configuration"))
                    .directory(local)
                    .bucket("s3://kernels")
                    .build();
            return Granary.builder()
                    .config(config)
                    .over(TestTiers.buckets(List.of(over)), InstantSource.system())
                    .published((_, id, result) -> published.put(id, result))
                    .open();
        }

        void lookup(FaultPlan plan) throws Exception {
            bucket.faulty.plan(plan);
            try (Granary granary = open(tier)) {
                long start = System.nanoTime();
                LookupResult<FakePrimitive> obtained = granary.lookup(engine, A);
                assertTrue(
                        System.nanoTime() - start < limit.plus(HANG).toNanos(), "the lookup hung");
                boolean isCompiled = obtained.source() == PrimitiveSource.COMPILED;
                assertTrue(isCompiled || obtained.source() == PrimitiveSource.BUCKET);
                assertTrue(
                        bucketState == BucketState.ENTRY || isCompiled,
                        "there was nothing to restore");
                assertEquals(
                        FakeEngine.binaries(A, isCompiled ? "one" : "elsewhere"),
                        obtained.primitive().getBinaries(BinaryKind.KERNEL));
                assertEquals(
                        List.of(isCompiled ? 1 : 0, isCompiled ? 0 : 1),
                        List.of(engine.compiles.get(), engine.restores.get()));
                assertEquals(PrimitiveSource.MEMORY, granary.lookup(engine, A).source());
                assertTrue(granary.flush(FaultyBucket.LONG.multipliedBy(4)), "publishing hung");
                bucket.awaitIdle();
                compare(TestNode.closed(granary), isCompiled);
            }
        }

        private void compare(GranaryStatistics statistics, boolean isCompiled) {
            int compiled = isCompiled ? 1 : 0;
            assertEquals(
                    List.of(1L - compiled, (long) compiled),
                    List.of(
                            statistics.count(Counter.LAYER_HITS),
                            statistics.count(Counter.LAYER_LOOKUPS)
                                    - statistics.count(Counter.LAYER_HITS)));
            assertEquals(
                    List.of(1L, 1L),
                    List.of(
                            statistics.count(Counter.PROGRAM_HITS),
                            statistics.count(Counter.PROGRAM_MISSES)));
            assertEquals(
                    List.of(0L, 1L, 1L),
                    List.of(
                            statistics.count(Counter.LOCAL_HITS),
                            statistics.count(Counter.LOCAL_LOOKUPS)
                                    - statistics.count(Counter.LOCAL_HITS),
                            statistics.count(Counter.LOCAL_STORED)));
            assertEquals(compiled, statistics.count(Counter.COMPILED));
            assertEquals(compiled, published.size());
            assertEquals(
                    published.values().stream()
                            .filter(result -> result instanceof StoreResult.Stored)
                            .count(),
                    statistics.count(Counter.LAYER_STORED));
            assertEquals(
                    published.values().stream()
                            .filter(result -> result instanceof StoreResult.Failed
                                    || result instanceof StoreResult.Unknown
                                    || result instanceof StoreResult.Refused)
                            .count(),
                    statistics.count(Counter.UPLOADS_LEFT));
            assertEquals(
                    0,
                    statistics.count(Counter.STORES_DROPPED)
                            + statistics.count(Counter.RESTORES_REFUSED)
                            + statistics.count(Counter.RESTORES_QUARANTINED));
            // With short timeouts a client may give up while it connects: a counted request then
            // never arrives.
            boolean mayHideRequests = isShort
                    || bucket.faulty.exchanges().stream()
                            .anyMatch(exchange -> exchange.fault().mayHideRequests());
            assertTrue(
                    mayHideRequests
                            ? bucket.faulty.requests() <= sent(tier)
                            : bucket.faulty.requests() == sent(tier),
                    () -> bucket.faulty.requests() + " requests came, counted: "
                            + tier.statistics().requests());
        }

        private static long sent(BucketTier tier) {
            var sent = tier.statistics().requests();
            return sent.get() + sent.head() + sent.put() + sent.delete() + sent.list();
        }

        /**
         * Verifies the state after the fault: the next process of the machine has the entry on disk
         * and does the remaining uploads, and other machines find a sound entry.
         */
        void verifyRecovery() throws Exception {
            FakeEngine next = new FakeEngine("two");
            try (Granary granary = open(bucket.sound())) {
                assertEquals(PrimitiveSource.LOCAL, granary.lookup(next, A).source());
                assertTrue(granary.flush(FaultyBucket.LONG));
                assertEquals(0, granary.statistics().count(Counter.UPLOADS_LEFT));
            }
            assertEquals(0, next.compiles.get());
            try (BucketTier fresh = bucket.sound()) {
                Entry stored = assertThat(fresh.load(A.getId())).isHit();
                assertTrue(
                        List.of(FakeEngine.binaries(A, "one"), FakeEngine.binaries(A, "elsewhere"))
                                .contains(stored.binaries()));
            }
        }

        List<S3Request> requests() {
            return bucket.faulty.exchanges().stream()
                    .skip(firstRequest)
                    .map(FaultyS3.Exchange::request)
                    .toList();
        }

        @Override
        public void close() {
            tier.close();
            bucket.close();
        }
    }

    @Test
    @DisplayName("credentials that expire affect only the bucket, and the next process, which has"
            + " renewed ones, uploads what this one left")
    void expired() throws Exception {
        try (Run run = new Run(BucketState.ENTRY, "expired", FaultyBucket.LONG)) {
            int kernels;
            // its own uploads pause for half a minute after a refusal: UploadQueueTest
            try (Granary granary = run.open(run.tier)) {
                kernels = outage(
                        run,
                        granary,
                        FaultPlan.always(new Fault.Lost(Fault.EXPIRED)),
                        FaultPlan.always(new Fault.Lost(Fault.EXPIRED_403)));
            }
            try (Granary next = run.open(run.bucket.sound())) {
                assertTrue(next.flush(FaultyBucket.LONG));
                assertEquals(
                        List.of((long) kernels, (long) kernels, 0L),
                        List.of(
                                next.statistics().count(Counter.UPLOADS_INHERITED),
                                next.statistics().count(Counter.LAYER_STORED),
                                next.statistics().count(Counter.UPLOADS_LEFT)));
            }
        }
    }

    @Test
    @DisplayName("SlowDown answers and resets affect only the bucket, and only meanwhile")
    void storm() throws Exception {
        try (Run run = new Run(BucketState.ENTRY, "storm", FaultyBucket.LONG);
                Granary granary = run.open(run.tier)) {
            int kernels = outage(
                    run,
                    granary,
                    FaultPlan.always(new Fault.Lost(Fault.SLOW_DOWN)),
                    FaultPlan.always(new Fault.Lost(Fault.RESET)));
            Id last = FakeDescriptor.of("k" + (kernels - 1)).getId();
            do {
                // the pauses of the tier end after 1 ms, and its circuit breaker probes several
                // times before it closes
                assertTrue(granary.publish(last));
                assertTrue(granary.flush(FaultyBucket.LONG));
            } while (!(run.published.get(last) instanceof StoreResult.Stored));
        }
    }

    /**
     * Looks up 20 kernels under each plan: all are compiled, and none is published.
     *
     * @return the number of kernels
     */
    private static int outage(Run run, Granary granary, FaultPlan first, FaultPlan second)
            throws Exception {
        assertEquals(PrimitiveSource.BUCKET, granary.lookup(run.engine, A).source());
        int kernels = 0;
        for (FaultPlan plan : List.of(first, second)) {
            run.bucket.faulty.plan(plan);
            for (int i = 0; i < 20; i++) {
                assertEquals(
                        PrimitiveSource.COMPILED,
                        granary.lookup(run.engine, FakeDescriptor.of("k" + kernels++))
                                .source());
            }
            assertTrue(granary.flush(FaultyBucket.LONG.multipliedBy(4)));
        }
        run.bucket.faulty.plan(FaultPlan.SOUND);
        assertEquals(kernels, granary.statistics().count(Counter.COMPILED));
        assertEquals(kernels + 1, granary.statistics().count(Counter.LOCAL_STORED));
        LayerStatistics bucket = granary.statistics().layers().getFirst();
        assertEquals(0, bucket.count(Counter.LAYER_STORED));
        assertEquals(
                kernels,
                bucket.count(Counter.LAYER_UNAVAILABLE) + bucket.count(Counter.LAYER_SKIPPED));
        return kernels;
    }

    @Test
    @DisplayName(
            "without the permission to list, absent keys are forbidden: everything compiles and"
                    + " is published")
    void mayNotList() throws Exception {
        try (Run run = new Run(BucketState.NOTHING, "may not list", FaultyBucket.LONG);
                Granary granary = run.open(run.tier)) {
            run.bucket.faulty.plan(FaultPlan.when(
                    request -> request.operation().equals("LIST")
                            || request.operation().equals("GET"),
                    new Fault.Lost(Fault.DENIED)));
            for (int i = 0; i < 30; i++) {
                assertEquals(
                        PrimitiveSource.COMPILED,
                        granary.lookup(run.engine, FakeDescriptor.of("k" + i)).source());
            }
            assertTrue(granary.flush(FaultyBucket.LONG));
            assertEquals(30, granary.statistics().layers().getFirst().count(Counter.LAYER_STORED));
            assertEquals(
                    30, granary.statistics().layers().getFirst().count(Counter.LAYER_UNAVAILABLE));
        }
    }
}
