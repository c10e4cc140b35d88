package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.StoreResult;
import dev.granary.cache.TierStatistics;
import dev.granary.cache.contract.PersistentCacheContract;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.PublishMode;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.coordinator.statistics.LayerStatistics;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.coordinator.stores.OpenStores;
import dev.granary.s3.BucketTier;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.contract.FaultyS3;
import dev.granary.s3.contract.S3Request;
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
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Whole look-ups over a real local tier and a real bucket, with every fault at every request to it. */
class BucketFaultsTest {
    private static final int AT_ONCE = 12; // most of them wait
    private static final FakeDescriptor A = FakeDescriptor.of("a");
    private static final Entry ELSEWHERE = TestEntries.entry(A.getId(), FakeEngine.binaries(A, "elsewhere"));
    private static final Duration HANG = Duration.ofSeconds(10);

    /** What the bucket has of the kernel that is looked up. */
    enum Before {
        NOTHING,
        ENTRY,
        DAMAGE
    }

    /** A request of a clean run: the so many-th of its kind. */
    private record Place(String operation, boolean isOfEntry, int number) {}

    private final Path directory;

    BucketFaultsTest(@TempDir Path directory) {
        this.directory = directory;
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName("R1 R2 N4 O1 any fault at any request of a look-up: the caller has its primitive, from right bytes only, and all is counted once")
    void everyFault(Before before) throws Exception {
        List<Place> places = new ArrayList<>();
        try (Run run = new Run(before, "clean", FaultyBucket.LONG)) {
            run.lookUp(FaultPlan.SOUND);
            Map<List<Object>, Integer> numbers = new HashMap<>();
            for (S3Request request : run.requests()) {
                int number = numbers.merge(List.of(request.operation(), isOfEntry(request)), 1, Integer::sum) - 1;
                places.add(new Place(request.operation(), isOfEntry(request), number));
            }
        }
        assertFalse(places.isEmpty());
        List<Future<?>> runs = new ArrayList<>();
        try (ExecutorService threads = Executors.newFixedThreadPool(AT_ONCE)) {
            for (Place place : places) {
                for (Fault fault : Fault.each()) {
                    String name = before + "-" + runs.size();
                    runs.add(threads.submit(() -> run(before, name, place, fault)));
                }
            }
            for (Future<?> run : runs) {
                run.get();
            }
        }
        System.out.println("granary.faults: look-up with " + before + " in the bucket: " + places.size() + " requests, " + runs.size() + " runs");
    }

    private static boolean isOfEntry(S3Request request) {
        return request.key().contains(A.getId().hash().hex());
    }

    private Void run(Before before, String name, Place place, Fault fault) throws Exception {
        try (Run run = new Run(before, name, fault.isSilent() ? FaultyBucket.SHORT : FaultyBucket.LONG)) {
            run.lookUp(FaultPlan.once(request -> request.operation().equals(place.operation()) && isOfEntry(request) == place.isOfEntry(),
                    place.number(), fault));
            run.another();
        } catch (Exception | AssertionError e) {
            throw new AssertionError(fault + " at " + place + " with " + before + " in the bucket", e);
        }
        return null;
    }

    /** One machine that looks one kernel up. */
    private final class Run implements AutoCloseable {
        private final FaultyBucket bucket = new FaultyBucket();
        private final FakeEngine engine = new FakeEngine("one");
        private final Map<Id, StoreResult> published = new ConcurrentHashMap<>();
        private final Path local;
        private final Duration limit;
        private final boolean isShort;
        private final BucketTier tier;
        private final int begun;
        private final Before before;

        Run(Before before, String name, Duration requestTimeout) throws IOException {
            this.before = before;
            this.local = directory.resolve(name);
            this.limit = requestTimeout.multipliedBy(3);
            this.isShort = requestTimeout.equals(FaultyBucket.SHORT);
            if (before != Before.NOTHING) {
                bucket.place(ELSEWHERE);
            }
            if (before == Before.DAMAGE) {
                bucket.damage(ELSEWHERE);
            }
            this.tier = bucket.faulty(requestTimeout);
            this.begun = bucket.faulty.requests();
        }

        private Granary open(BucketTier over) throws Exception {
            GranaryConfig config = GranaryConfig.builder().environment(Map.of("XDG_CONFIG_HOME", local + "-no-configuration"))
                    .directory(local).bucket("s3://kernels").build();
            return Granary.over(config, OpenStores.open(config, List.of(over), InstantSource.system()),
                    PublishMode.ALONE, published::put);
        }

        void lookUp(FaultPlan plan) throws Exception {
            bucket.faulty.plan(plan);
            try (Granary granary = open(tier)) {
                long start = System.nanoTime();
                LookupResult<FakePrimitive> obtained = granary.obtain(engine, A);
                assertTrue(System.nanoTime() - start < limit.plus(HANG).toNanos(), "the look-up hung");
                boolean isCompiled = obtained.source() == PrimitiveSource.COMPILED;
                assertTrue(isCompiled || obtained.source() == PrimitiveSource.BUCKET);
                assertTrue(before == Before.ENTRY || isCompiled, "there was nothing to restore");
                assertEquals(FakeEngine.binaries(A, isCompiled ? "one" : "elsewhere"), obtained.primitive().getBinaries(BinaryKind.KERNEL));
                assertEquals(List.of(isCompiled ? 1 : 0, isCompiled ? 0 : 1), List.of(engine.compiles.get(), engine.restores.get()));
                assertEquals(PrimitiveSource.MEMORY, granary.obtain(engine, A).source());
                assertTrue(granary.flush(FaultyBucket.LONG.multipliedBy(4)), "publishing hung");
                bucket.awaitIdle();
                compare(granary.statistics(), isCompiled);
            }
        }

        private void compare(GranaryStatistics counted, boolean isCompiled) {
            TierStatistics.Snapshot remote = counted.layers().getFirst().results();
            int compiled = isCompiled ? 1 : 0;
            assertEquals(List.of(1L - compiled, (long) compiled), List.of(remote.hits(), remote.misses()));
            assertEquals(List.of(1L, 1L), List.of(counted.memoryHits(), counted.memoryMisses()));
            assertEquals(List.of(0L, 1L, 1L), List.of(counted.local().hits(), counted.local().absent(), counted.local().stored()));
            assertEquals(compiled, counted.compiled());
            assertEquals(compiled, stores(remote));
            assertEquals(remote.failed() + remote.unknown() + remote.refused(), counted.leftForLater());
            assertEquals(compiled, published.size());
            assertEquals(0, counted.dropped() + counted.refusedByDriver() + counted.quarantined());
            // With short limits a client may give up while it connects: what is counted then never comes.
            boolean mayHideRequests = isShort || bucket.faulty.exchanges().stream().anyMatch(exchange -> exchange.fault().mayHideRequests());
            assertTrue(mayHideRequests ? bucket.faulty.requests() <= sent(tier) : bucket.faulty.requests() == sent(tier),
                    () -> bucket.faulty.requests() + " requests came, counted: " + tier.statistics().requests());
        }

        private static long stores(TierStatistics.Snapshot tier) {
            return tier.stored() + tier.duplicates() + tier.divergent() + tier.refused() + tier.failed() + tier.unknown();
        }

        private static long sent(BucketTier tier) {
            var sent = tier.statistics().requests();
            return sent.get() + sent.head() + sent.put() + sent.delete() + sent.list();
        }

        /** The fault is over: the machine's next process has it on disk, uploads what was left, and others find a sound entry. */
        void another() throws Exception {
            FakeEngine next = new FakeEngine("two");
            try (Granary granary = open(bucket.sound())) {
                assertEquals(PrimitiveSource.LOCAL, granary.obtain(next, A).source());
                assertTrue(granary.flush(FaultyBucket.LONG));
                assertEquals(0, granary.statistics().leftForLater());
            }
            assertEquals(0, next.compiles.get());
            try (BucketTier fresh = bucket.sound()) {
                Entry there = PersistentCacheContract.hit(fresh.load(A.getId()));
                assertTrue(List.of(FakeEngine.binaries(A, "one"), FakeEngine.binaries(A, "elsewhere")).contains(there.binaries()));
            }
        }

        List<S3Request> requests() {
            return bucket.faulty.exchanges().stream().skip(begun).map(FaultyS3.Exchange::request).toList();
        }

        @Override
        public void close() {
            tier.close();
            bucket.close();
        }
    }

    @Test
    @DisplayName("R3 credentials that expire in the middle of a run, and are renewed: only the bucket suffers, and only so long")
    void expired() throws Exception {
        trouble(FaultPlan.always(new Fault.Lost(Fault.EXPIRED)), FaultPlan.always(new Fault.Lost(Fault.EXPIRED_403)));
    }

    @Test
    @DisplayName("R16 a storm of SlowDown, and resets: only the bucket suffers, and only so long")
    void storm() throws Exception {
        trouble(FaultPlan.always(new Fault.Lost(Fault.SLOW_DOWN)), FaultPlan.always(new Fault.Lost(Fault.RESET)));
    }

    private void trouble(FaultPlan first, FaultPlan second) throws Exception {
        try (Run run = new Run(Before.ENTRY, "trouble", FaultyBucket.LONG); Granary granary = run.open(run.tier)) {
            assertEquals(PrimitiveSource.BUCKET, granary.obtain(run.engine, A).source());
            int kernels = 0;
            for (FaultPlan plan : List.of(first, second)) {
                run.bucket.faulty.plan(plan);
                for (int i = 0; i < 20; i++) {
                    assertEquals(PrimitiveSource.COMPILED, granary.obtain(run.engine, FakeDescriptor.of("k" + kernels++)).source());
                }
                assertTrue(granary.flush(FaultyBucket.LONG.multipliedBy(4)));
            }
            run.bucket.faulty.plan(FaultPlan.SOUND);
            assertEquals(kernels, granary.statistics().compiled());
            assertEquals(kernels + 1, granary.statistics().local().stored());
            assertEquals(0, granary.statistics().layers().getFirst().results().stored());
            LayerStatistics bucket = granary.statistics().layers().getFirst();
            assertEquals(kernels, bucket.results().unavailable() + bucket.skipped());
            Id last = FakeDescriptor.of("k" + (kernels - 1)).getId();
            do { // the tier's pauses end after a millisecond, and its circuit breaker asks some times before it closes
                assertTrue(granary.publish(last));
                assertTrue(granary.flush(FaultyBucket.LONG));
            } while (!(run.published.get(last) instanceof StoreResult.Stored));
        }
    }

    @Test
    @DisplayName("R3 no permission to list, so that what is absent looks forbidden: everything compiles, and is published all the same")
    void mayNotList() throws Exception {
        try (Run run = new Run(Before.NOTHING, "may not list", FaultyBucket.LONG); Granary granary = run.open(run.tier)) {
            run.bucket.faulty.plan(FaultPlan.when(request -> request.operation().equals("LIST") || request.operation().equals("GET"),
                    new Fault.Lost(Fault.DENIED)));
            for (int i = 0; i < 30; i++) {
                assertEquals(PrimitiveSource.COMPILED, granary.obtain(run.engine, FakeDescriptor.of("k" + i)).source());
            }
            assertTrue(granary.flush(FaultyBucket.LONG));
            assertEquals(30, granary.statistics().layers().getFirst().results().stored());
            assertEquals(30, granary.statistics().layers().getFirst().results().unavailable());
        }
    }
}
