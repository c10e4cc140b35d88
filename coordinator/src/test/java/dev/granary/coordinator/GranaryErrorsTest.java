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
import dev.granary.cache.build.StackEdge;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.PublishMode;
import dev.granary.coordinator.publish.WriteBehindQueue;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.coordinator.stores.OpenStores;
import dev.granary.testing.TestSeed;
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
import java.util.function.BiConsumer;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Errors and interrupts anywhere in a look-up, over a real local tier: nothing hangs, nothing is left, what comes next works. */
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GranaryErrorsTest {
    private static final int LEVELS = 150;
    private static final FakeDescriptor A = FakeDescriptor.of("a");

    private final Path directory;
    private final FakeBucket bucket = new FakeBucket();
    private final AtomicReference<Place> broken = new AtomicReference<>(Place.NOWHERE);
    private volatile Error error = new AssertionError("none");

    GranaryErrorsTest(@TempDir Path directory) {
        this.directory = directory;
    }

    /** Where an error is thrown. */
    private enum Place {
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
        return List.of(new StackOverflowError("on purpose"), new OutOfMemoryError("on purpose"), new NoClassDefFoundError("on purpose"));
    }

    private void at(Place place) {
        if (broken.get() == place) {
            throw error;
        }
    }

    /** An engine that throws where it is told to. */
    private final class Breaking implements Engine<FakeDescriptor, Breaking.Made> {
        private final AtomicInteger compiles = new AtomicInteger();

        @Override
        public Target target() {
            return TestEntries.TARGET;
        }

        @Override
        public Made create(FakeDescriptor descriptor) {
            at(Place.COMPILE);
            compiles.incrementAndGet();
            return new Made(descriptor, Primitive.Origin.COMPILED);
        }

        @Override
        public Made create(FakeDescriptor descriptor, KernelBinaries binaries, BinaryKind kind) {
            at(Place.RESTORE);
            return new Made(descriptor, Primitive.Origin.RESTORED);
        }

        @Override
        public void close() {}

        private final class Made implements Primitive {
            private final FakeDescriptor descriptor;
            private final Origin origin;

            Made(FakeDescriptor descriptor, Origin origin) {
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
                at(Place.BINARIES);
                return FakeEngine.binaries(descriptor, "one");
            }

            @Override
            public Duration compileTime() {
                at(Place.COMPILE_TIME);
                return FakePrimitive.COMPILE_TIME;
            }

            @Override
            public List<String> kernels() {
                return List.of(descriptor.name());
            }

            @Override
            public List<String> geometries() {
                return List.of();
            }

            @Override
            public void onBinariesComplete(Runnable action) {
                at(Place.ON_COMPLETE);
                action.run();
            }

            @Override
            public void outliveEngine() {
                at(Place.OUTLIVE);
            }
        }
    }

    private Granary open() throws ConfigException {
        PersistentCache breaking = new PersistentCache() {
            @Override
            public LoadResult load(Id id) {
                at(Place.LOAD);
                return bucket.load(id);
            }

            @Override
            public StoreResult store(Entry entry) {
                at(Place.STORE);
                return bucket.store(entry);
            }

            @Override
            public void discard(Entry entry) {}

            @Override
            public void close() {}
        };
        TestNode node = new TestNode(directory.resolve("local"), bucket);
        GranaryConfig config = node.config().bucket("s3://test").flushLimit(TestNode.LONG).localWait(TestNode.LONG).build();
        BiConsumer<Id, StoreResult> listener = (_, _) -> at(Place.LISTENER);
        return Granary.over(config, OpenStores.open(config, List.of(breaking), () -> node.now), PublishMode.ALONE, listener);
    }

    /** Each key is had at once, here and by another of this machine, which would have to wait for a claim that was left. */
    private void assertSound(Granary granary, Breaking engine, List<FakeDescriptor> keys) throws Exception {
        long waits = granary.statistics().waitsGivenUp() + granary.statistics().waited();
        for (FakeDescriptor key : keys) {
            assertSame(granary.primitive(engine, key), granary.primitive(engine, key));
        }
        assertTrue(granary.flush(TestNode.LONG));
        assertEquals(waits, granary.statistics().waitsGivenUp() + granary.statistics().waited());
        try (Granary another = open()) {
            for (FakeDescriptor key : keys) {
                another.primitive(engine, key);
            }
            assertEquals(0, another.statistics().waitsGivenUp() + another.statistics().waited());
            assertEquals(0, another.statistics().quarantined());
        }
        FakeDescriptor last = FakeDescriptor.of("last");
        granary.primitive(engine, last);
        assertTrue(granary.flush(TestNode.LONG));
        assertTrue(bucket.entries.containsKey(last.getId()), "what comes next is stored");
    }

    @ParameterizedTest
    @MethodSource("errors")
    @DisplayName("M1 an error at each step of a look-up: the same key works at once, no claim is left, what is behind goes on")
    void anyStep(Error thrown) throws Exception {
        error = thrown;
        for (Place place : Place.values()) {
            FakeDescriptor key = FakeDescriptor.of(place + " with " + thrown);
            Breaking engine = new Breaking();
            if (place == Place.RESTORE) {
                try (Granary before = open()) {
                    before.primitive(engine, key);
                }
            }
            try (Granary granary = open()) {
                broken.set(place);
                if (place == Place.COMPILE || place == Place.RESTORE || place == Place.OUTLIVE || place == Place.COMPILE_TIME) {
                    assertSame(thrown, assertThrows(thrown.getClass(), () -> granary.primitive(engine, key)));
                } else {
                    granary.primitive(engine, key);
                }
                assertTrue(granary.flush(TestNode.LONG), place::name);
                if (place == Place.ON_COMPLETE) {
                    assertFalse(bucket.entries.containsKey(key.getId()), "a driver that takes no listener is asked for nothing later");
                }
                broken.set(Place.NOWHERE);
                assertSound(granary, engine, List.of(key));
            }
        }
    }

    @Test
    @DisplayName("M1 a look-up at each depth from the end of the stack: all keys work at once afterwards, no claim is left")
    void anyDepth() throws Exception {
        Breaking engine = new Breaking();
        List<FakeDescriptor> keys = new ArrayList<>();
        for (int i = 0; i < LEVELS; i++) {
            keys.add(FakeDescriptor.of("k" + i));
        }
        try (Granary granary = open()) {
            granary.primitive(engine, A);
            AtomicInteger succeeded = new AtomicInteger();
            StackEdge.run(LEVELS, 0, level -> {
                try {
                    granary.primitive(engine, keys.get(level));
                    succeeded.incrementAndGet();
                } catch (CompileException e) {
                    throw new AssertionError(e);
                }
            });
            assertTrue(succeeded.get() < LEVELS, "the stack did end");
            assertSound(granary, engine, keys);
        }
    }

    @Test
    @DisplayName("M1 builders that recurse without end, each in the look-up of the one before: all keys work at once afterwards")
    void endlesslyNested() throws Exception {
        Breaking engine = new Breaking();
        try (Granary granary = open()) {
            AtomicInteger depth = new AtomicInteger();
            Thread deep = new Thread(null, () -> assertThrows(StackOverflowError.class, () -> nest(granary, depth)), "deep", 256 << 10);
            deep.start();
            deep.join();
            List<FakeDescriptor> keys = new ArrayList<>();
            for (int i = 0; i <= depth.get(); i++) {
                keys.add(FakeDescriptor.of("nested " + i));
            }
            assertFalse(keys.isEmpty());
            assertSound(granary, engine, keys);
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
                throw new AssertionError("it ends nowhere");
            }

            @Override
            public FakePrimitive create(FakeDescriptor descriptor, KernelBinaries binaries, BinaryKind kind) {
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
    @DisplayName("M5 primitives that are never launched: beyond a bound the longest waiting ones are taken as they are, in order, and let go")
    void neverLaunched() throws Exception {
        FakeEngine engine = new FakeEngine("one");
        engine.giving = FakeEngine.Binaries.AFTER_LAUNCH;
        int more = 3;
        TestNode node = new TestNode(directory.resolve("local"), bucket);
        try (Granary granary = node.openWithoutBucket()) {
            for (int i = 0; i < WriteBehindQueue.MOST_INCOMPLETE + more; i++) {
                granary.primitive(engine, FakeDescriptor.of("k" + i));
            }
            while (granary.statistics().local().stored() < more) {
                Thread.onSpinWait();
            }
            assertEquals(more, granary.statistics().local().stored());
            try (Granary another = node.openWithoutBucket()) {
                assertEquals(PrimitiveSource.LOCAL, another.obtain(engine, FakeDescriptor.of("k" + (more - 1))).source());
            }
            assertEquals(0, granary.statistics().dropped());
        }
    }

    @ParameterizedTest
    @EnumSource(FakeEngine.Binaries.class)
    @DisplayName("A storm of interrupts on callers: each call ends with its primitive and the status kept, and everything works afterwards")
    void interrupts(FakeEngine.Binaries giving) throws Exception {
        SplittableRandom seeds = TestSeed.random("GranaryErrorsTest.interrupts " + giving);
        FakeEngine engine = new FakeEngine("one");
        engine.giving = giving;
        int threads = 6;
        try (Granary granary = open(); ExecutorService pool = Executors.newFixedThreadPool(threads + 1)) {
            List<Thread> callers = new ArrayList<>();
            List<Future<?>> all = new ArrayList<>();
            for (int t = 0; t < threads; t++) {
                SplittableRandom random = seeds.split();
                all.add(pool.submit(() -> {
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
            while (all.stream().anyMatch(one -> !one.isDone())) {
                synchronized (callers) {
                    if (!callers.isEmpty()) {
                        callers.get(random.nextInt(callers.size())).interrupt();
                    }
                }
                Thread.onSpinWait();
            }
            for (Future<?> one : all) {
                one.get();
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
