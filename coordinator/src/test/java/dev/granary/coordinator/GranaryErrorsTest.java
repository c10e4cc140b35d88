package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.Primitive;
import dev.granary.cache.StoreResult;
import dev.granary.cache.Target;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.event.GranaryListener.PublicationListener;
import dev.granary.coordinator.publish.WriteBehindQueue;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.coordinator.tier.TestTiers;
import dev.granary.testing.Await;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Errors and interrupts anywhere in a lookup with a real local tier: nothing hangs, nothing is left
 * behind, and later calls work.
 */
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GranaryErrorsTest {
    private static final FakeDescriptor A = FakeDescriptor.of("a");

    private final Path directory;
    private final FakeBucket bucket = new FakeBucket();
    private final AtomicReference<FaultPoint> faultPoint =
            new AtomicReference<>(FaultPoint.NOWHERE);
    private volatile Error error = new AssertionError("none");

    GranaryErrorsTest(@TempDir Path directory) {
        this.directory = directory;
    }

    /** Step at which an error is thrown. */
    private enum FaultPoint {
        NOWHERE,
        COMPILE,
        RESTORE,
        ON_COMPLETE,
        OUTLIVE,
        COMPILE_TIME,
        BINARIES,
        LOAD,
        STORE,
        LISTENER
    }

    static List<Error> errors() {
        return List.of(
                new StackOverflowError("on purpose"),
                new OutOfMemoryError("on purpose"),
                new NoClassDefFoundError("on purpose"));
    }

    private void throwAt(FaultPoint point) {
        if (faultPoint.get() == point) {
            throw error;
        }
    }

    /** An engine that throws at the configured step. */
    private final class BrokenEngine implements Engine<FakeDescriptor, BrokenEngine.MadePrimitive> {
        private final AtomicInteger compiles = new AtomicInteger();

        @Override
        public Target target() {
            return TestEntries.TARGET;
        }

        @Override
        public MadePrimitive create(FakeDescriptor descriptor) {
            throwAt(FaultPoint.COMPILE);
            compiles.incrementAndGet();
            return new MadePrimitive(descriptor, Primitive.Origin.COMPILED);
        }

        @Override
        public MadePrimitive create(
                FakeDescriptor descriptor, KernelBinaries binaries, BinaryKind kind) {
            throwAt(FaultPoint.RESTORE);
            return new MadePrimitive(descriptor, Primitive.Origin.RESTORED);
        }

        @Override
        public void close() {}

        private final class MadePrimitive implements Primitive {
            private final FakeDescriptor descriptor;
            private final Origin origin;

            MadePrimitive(FakeDescriptor descriptor, Origin origin) {
                this.descriptor = descriptor;
                this.origin = origin;
            }

            @Override
            public FakeDescriptor descriptor() {
                return descriptor;
            }

            @Override
            public Origin origin() {
                return origin;
            }

            @Override
            public KernelBinaries getBinaries(BinaryKind kind) {
                throwAt(FaultPoint.BINARIES);
                return FakeEngine.binaries(descriptor, "one");
            }

            @Override
            public Duration compileTime() {
                throwAt(FaultPoint.COMPILE_TIME);
                return FakePrimitive.COMPILE_TIME;
            }

            @Override
            public List<String> kernels() {
                return List.of(descriptor.name());
            }

            @Override
            public void onBinariesComplete(Runnable action) {
                throwAt(FaultPoint.ON_COMPLETE);
                action.run();
            }

            @Override
            public void outliveEngine() {
                throwAt(FaultPoint.OUTLIVE);
            }
        }
    }

    private Granary open() throws ConfigException {
        return open(TestNode.LONG);
    }

    private Granary open(Duration claimWait) throws ConfigException {
        PersistentCache brokenBucket = new PersistentCache() {
            @Override
            public LoadResult load(Id id) {
                throwAt(FaultPoint.LOAD);
                return bucket.load(id);
            }

            @Override
            public StoreResult store(Entry entry) {
                throwAt(FaultPoint.STORE);
                return bucket.store(entry);
            }

            @Override
            public void discard(Entry entry) {}

            @Override
            public void close() {}
        };
        TestNode node = new TestNode(directory.resolve("local"), bucket);
        GranaryConfig config = node.config()
                .bucket("s3://test")
                .flushLimit(TestNode.LONG)
                .claimWait(claimWait)
                .build();
        PublicationListener listener = (_, _, _) -> throwAt(FaultPoint.LISTENER);
        return Granary.builder()
                .config(config)
                .over(TestTiers.buckets(List.of(brokenBucket)), () -> node.now)
                .published(listener)
                .open();
    }

    /**
     * Asserts that each key is available at once, here and in another instance of this machine,
     * which would wait for a claim that was left.
     */
    private void assertSound(Granary granary, BrokenEngine engine, List<FakeDescriptor> keys)
            throws Exception {
        long waits = granary.statistics().count(Counter.CLAIM_WAITS_GIVEN_UP)
                + granary.statistics().count(Counter.CLAIM_HITS);
        for (FakeDescriptor key : keys) {
            assertSame(granary.primitive(engine, key), granary.primitive(engine, key));
        }
        assertTrue(granary.flush(TestNode.LONG));
        assertEquals(
                waits,
                granary.statistics().count(Counter.CLAIM_WAITS_GIVEN_UP)
                        + granary.statistics().count(Counter.CLAIM_HITS));
        try (Granary other = open()) {
            for (FakeDescriptor key : keys) {
                other.primitive(engine, key);
            }
            assertEquals(
                    0,
                    other.statistics().count(Counter.CLAIM_WAITS_GIVEN_UP)
                            + other.statistics().count(Counter.CLAIM_HITS));
            assertEquals(0, other.statistics().count(Counter.RESTORES_QUARANTINED));
        }
        FakeDescriptor last = FakeDescriptor.of("last");
        granary.primitive(engine, last);
        assertTrue(granary.flush(TestNode.LONG));
        assertTrue(bucket.entries.containsKey(last.getId()), "later entries are stored");
    }

    @ParameterizedTest
    @MethodSource("errors")
    @DisplayName(
            "after an error at any step of a lookup the same key works at once, and no claim is"
                    + " left")
    void anyStep(Error thrown) throws Exception {
        error = thrown;
        for (FaultPoint point : FaultPoint.values()) {
            FakeDescriptor key = FakeDescriptor.of(point + " with " + thrown);
            BrokenEngine engine = new BrokenEngine();
            if (point == FaultPoint.RESTORE) {
                try (Granary before = open()) {
                    before.primitive(engine, key);
                }
            }
            try (Granary granary = open()) {
                faultPoint.set(point);
                if (point == FaultPoint.COMPILE
                        || point == FaultPoint.RESTORE
                        || point == FaultPoint.OUTLIVE
                        || point == FaultPoint.COMPILE_TIME) {
                    assertSame(
                            thrown,
                            assertThrows(thrown.getClass(), () -> granary.primitive(engine, key)));
                } else {
                    granary.primitive(engine, key);
                }
                assertTrue(granary.flush(TestNode.LONG), point::name);
                if (point == FaultPoint.ON_COMPLETE) {
                    assertFalse(
                            bucket.entries.containsKey(key.getId()),
                            "without a listener, no binaries are taken");
                }
                faultPoint.set(FaultPoint.NOWHERE);
                assertSound(granary, engine, List.of(key));
            }
        }
    }

    @Test
    @DisplayName("after infinitely nested lookups all keys work; a claim that the overflow left"
            + " costs one wait at most")
    void endlesslyNested() throws Exception {
        BrokenEngine engine = new BrokenEngine();
        try (Granary granary = open(Duration.ofMillis(100))) {
            AtomicInteger depth = new AtomicInteger();
            Thread deep = new Thread(
                    null,
                    () -> assertThrows(StackOverflowError.class, () -> nest(granary, depth)),
                    "deep",
                    256 << 10);
            deep.start();
            deep.join();
            assertTrue(depth.get() > 0);
            for (int i = 0; i <= depth.get(); i++) {
                FakeDescriptor key = FakeDescriptor.of("nested " + i);
                assertSame(granary.primitive(engine, key), granary.primitive(engine, key));
            }
            assertTrue(granary.flush(TestNode.LONG));
        }
    }

    private void nest(Granary granary, AtomicInteger depth) {
        Engine<FakeDescriptor, FakePrimitive> engine = new Engine<>() {
            @Override
            public Target target() {
                return TestEntries.TARGET;
            }

            @Override
            public FakePrimitive create(FakeDescriptor descriptor) {
                depth.incrementAndGet();
                nest(granary, depth);
                throw new AssertionError("the recursion is infinite");
            }

            @Override
            public FakePrimitive create(
                    FakeDescriptor descriptor, KernelBinaries binaries, BinaryKind kind) {
                throw new AssertionError("nothing is stored");
            }

            @Override
            public void close() {}
        };
        try {
            granary.primitive(engine, FakeDescriptor.of("nested " + depth.get()));
        } catch (CompileException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    @DisplayName("beyond a limit of unlaunched primitives the binaries of the oldest are taken, and"
            + " they are released")
    void neverLaunched() throws Exception {
        FakeEngine engine = new FakeEngine("one");
        engine.binariesTime = FakeEngine.BinariesTime.AFTER_LAUNCH;
        int excess = 3;
        TestNode node = new TestNode(directory.resolve("local"), bucket);
        try (Granary granary = node.openWithoutBucket()) {
            for (int i = 0; i < WriteBehindQueue.MAX_INCOMPLETE + excess; i++) {
                granary.primitive(engine, FakeDescriptor.of("k" + i));
            }
            Await.holds(() -> granary.statistics().count(Counter.LOCAL_STORED) >= excess);
            assertEquals(excess, granary.statistics().count(Counter.LOCAL_STORED));
            try (Granary other = node.openWithoutBucket()) {
                assertEquals(
                        PrimitiveSource.LOCAL,
                        other.lookup(engine, FakeDescriptor.of("k" + (excess - 1)))
                                .source());
            }
            assertEquals(0, granary.statistics().count(Counter.STORES_DROPPED));
        }
    }

    @ParameterizedTest
    @EnumSource(FakeEngine.BinariesTime.class)
    @DisplayName(
            "With many interrupts each call returns its primitive and keeps the interrupt status")
    void interrupts(FakeEngine.BinariesTime binariesTime) throws Exception {
        SplittableRandom seeds = TestSeed.random("GranaryErrorsTest.interrupts " + binariesTime);
        FakeEngine engine = new FakeEngine("one");
        engine.binariesTime = binariesTime;
        int threads = 6;
        try (Granary granary = open();
                ExecutorService pool = Executors.newFixedThreadPool(threads + 1)) {
            List<Thread> callers = new ArrayList<>();
            List<Future<?>> futures = new ArrayList<>();
            for (int t = 0; t < threads; t++) {
                SplittableRandom random = seeds.split();
                futures.add(pool.submit(() -> {
                    synchronized (callers) {
                        callers.add(Thread.currentThread());
                    }
                    for (int i = 0; i < 60; i++) {
                        boolean isMine = random.nextBoolean();
                        if (isMine) {
                            Thread.currentThread().interrupt();
                        }
                        FakeDescriptor key = FakeDescriptor.of("k" + random.nextInt(120));
                        FakePrimitive primitive = granary.primitive(engine, key);
                        assertEquals(key, primitive.descriptor());
                        if (isMine) {
                            assertTrue(Thread.interrupted(), "the status is kept");
                        }
                        if (random.nextInt(8) == 0) {
                            granary.flush(Duration.ofMillis(random.nextInt(3)));
                        }
                        primitive.launch();
                    }
                    return null;
                }));
            }
            SplittableRandom random = seeds.split();
            while (futures.stream().anyMatch(each -> !each.isDone())) {
                synchronized (callers) {
                    if (!callers.isEmpty()) {
                        callers.get(random.nextInt(callers.size())).interrupt();
                    }
                }
                Thread.onSpinWait();
            }
            for (Future<?> each : futures) {
                each.get();
            }
            for (int i = 0; i < 120; i++) {
                granary.primitive(engine, FakeDescriptor.of("k" + i)).launch();
            }
            assertTrue(granary.flush(TestNode.LONG));
            FakeEngine sound = new FakeEngine("one");
            granary.primitive(sound, A);
            assertTrue(granary.flush(TestNode.LONG));
            assertTrue(bucket.entries.containsKey(A.getId()));
        }
    }
}
