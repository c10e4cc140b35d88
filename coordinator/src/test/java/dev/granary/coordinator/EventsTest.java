package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.CompileException;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.event.GranaryListener;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.testing.Await;
import dev.granary.testing.TestSeed;

import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Tests of the events that listeners and the flight recorder receive. */
class EventsTest {
    private static final Set<PrimitiveSource> IN_MEMORY =
            Set.of(PrimitiveSource.MEMORY, PrimitiveSource.JOINED);
    private static final FakeDescriptor BROKEN = FakeDescriptor.of("broken");
    private static final int THREADS = 3;
    private static final int LOOKUPS = 150;
    private static final int PROGRAMS = 25;
    private static final int ENTRY_BYTES = 60_000;
    private static final String LAYER = "shared";

    private final Path directory;
    private final FakeBucket bucket = new FakeBucket();

    EventsTest(@TempDir Path directory) {
        this.directory = directory;
    }

    /** A listener that keeps all events. */
    private static final class Collector implements GranaryListener {
        final Queue<GranaryEvent> events = new ConcurrentLinkedQueue<>();

        @Override
        public boolean wantsMemoryHits() {
            return true;
        }

        @Override
        public void onEvent(GranaryEvent event) {
            events.add(event);
        }

        <E extends GranaryEvent> Stream<E> of(Class<E> type) {
            return events.stream().filter(type::isInstance).map(type::cast);
        }

        <E extends GranaryEvent> long count(Class<E> type, Predicate<E> condition) {
            return of(type).filter(condition).count();
        }
    }

    private GranaryConfigBuilder config() throws Exception {
        return new TestNode(directory.resolve("local"), bucket)
                .config()
                .offline()
                .flushLimit(TestNode.LONG);
    }

    private Granary open(GranaryConfigBuilder config, GranaryListener... listeners)
            throws Exception {
        GranaryBuilder builder = Granary.builder().config(config.build()).layer(LAYER, bucket);
        for (GranaryListener listener : listeners) {
            builder.listener(listener);
        }
        return builder.open();
    }

    private static FakeEngine engine() {
        return new FakeEngine("x".repeat(ENTRY_BYTES));
    }

    private static FakeDescriptor descriptor(SplittableRandom random) {
        return switch (random.nextInt(12)) {
            case 0 -> FakeDescriptor.notCacheable("event none");
            case 1 -> FakeDescriptor.of("wrong event " + random.nextInt(3));
            default -> FakeDescriptor.of("event " + random.nextInt(PROGRAMS));
        };
    }

    /** Changes what the next lookups meet. */
    private void disturb(SplittableRandom random, Granary granary, FakeEngine engine) {
        switch (random.nextInt(12)) {
            case 0 -> bucket.behavior = FakeBucket.Behavior.IS_DOWN;
            case 1 -> bucket.behavior = FakeBucket.Behavior.IS_DAMAGED;
            case 2, 3 -> bucket.behavior = FakeBucket.Behavior.WORKS;
            case 4 -> engine.restoreBehavior = FakeEngine.RestoreBehavior.REFUSES;
            case 5 -> engine.restoreBehavior = FakeEngine.RestoreBehavior.RECOMPILES;
            case 6 -> engine.restoreBehavior = FakeEngine.RestoreBehavior.LACKS_KERNEL;
            case 7 -> engine.restoreBehavior = FakeEngine.RestoreBehavior.ACCEPTS;
            case 8 -> granary.setLocalCapacity(0);
            case 9 -> granary.setLocalCapacity(1 << 20);
            case 10 -> granary.setEnabled(random.nextInt(4) > 0);
            default -> {
                granary.setPrimitiveCacheCapacity(0);
                granary.setPrimitiveCacheCapacity(10);
            }
        }
    }

    /** Looks up, and returns the number of lookups that threw an exception. */
    private int session(SplittableRandom random, Granary granary, FakeEngine engine) {
        int thrown = 0;
        for (int i = 0; i < LOOKUPS; i++) {
            if (random.nextInt(4) == 0) {
                disturb(random, granary, engine);
            }
            try {
                granary.primitive(engine, descriptor(random));
            } catch (CompileException e) {
                assertTrue(e.toString().contains("does not compile"), e::toString);
                thrown++;
            }
        }
        return thrown;
    }

    private static long evicted(Collector collector, String tier) {
        return collector
                .of(GranaryEvent.Eviction.class)
                .filter(event -> event.tier().equals(tier))
                .mapToLong(GranaryEvent.Eviction::entries)
                .sum();
    }

    private static void assertLoads(
            GranaryStatistics counted, String tier, boolean isLocal, Collector collector) {
        List<GranaryEvent.Load> loads = collector
                .of(GranaryEvent.Load.class)
                .filter(event -> event.tier().equals(tier))
                .filter(event -> event.outcome() != GranaryEvent.Load.Outcome.SKIPPED)
                .toList();
        Map<GranaryEvent.Load.Outcome, Long> outcomes = loads.stream()
                .collect(Collectors.groupingBy(
                        GranaryEvent.Load::outcome, TreeMap::new, Collectors.counting()));
        assertAll(
                tier,
                () -> assertEquals(
                        counted.count(isLocal ? Counter.LOCAL_LOOKUPS : Counter.LAYER_LOOKUPS),
                        loads.size()),
                () -> assertEquals(
                        counted.count(isLocal ? Counter.LOCAL_HITS : Counter.LAYER_HITS),
                        outcomes.getOrDefault(GranaryEvent.Load.Outcome.HIT, 0L)),
                () -> assertEquals(
                        counted.count(isLocal ? Counter.LOCAL_DAMAGED : Counter.LAYER_DAMAGED),
                        outcomes.getOrDefault(GranaryEvent.Load.Outcome.DAMAGED, 0L)),
                () -> assertEquals(
                        counted.count(
                                isLocal ? Counter.LOCAL_READ_BYTES : Counter.LAYER_READ_BYTES),
                        loads.stream().mapToLong(GranaryEvent.Load::bytes).sum()),
                () -> assertEquals(
                        counted.time(isLocal ? Counter.LOCAL_TIME : Counter.LAYER_TIME),
                        loads.stream()
                                .map(GranaryEvent.Load::duration)
                                .reduce(Duration.ZERO, Duration::plus)),
                () -> assertTrue(loads.stream()
                        .allMatch(event -> event.cause().isEmpty()
                                == (event.outcome() == GranaryEvent.Load.Outcome.HIT
                                        || event.outcome() == GranaryEvent.Load.Outcome.ABSENT))));
    }

    private static void assertAgree(GranaryStatistics counted, Collector events) {
        assertLoads(counted, "local", true, events);
        assertLoads(counted, LAYER, false, events);
        assertAll(
                () -> assertEquals(0, counted.count(Counter.EVENTS_DROPPED)),
                () -> assertEquals(
                        counted.count(Counter.COMPILED),
                        events.count(GranaryEvent.Lookup.class, event -> event.source()
                                .filter(PrimitiveSource.COMPILED::equals)
                                .isPresent())),
                () -> assertEquals(
                        counted.count(Counter.COMPILED),
                        events.count(GranaryEvent.Compile.class, event -> event.failure()
                                .isEmpty())),
                () -> assertEquals(
                        counted.count(Counter.COMPILE_FAILURES),
                        events.count(GranaryEvent.Compile.class, event -> event.failure()
                                .isPresent())),
                () -> assertEquals(
                        counted.count(Counter.COMPILE_FAILURES),
                        events.count(GranaryEvent.Lookup.class, event -> event.source()
                                .isEmpty())),
                () -> assertEquals(
                        counted.count(Counter.NOT_CACHEABLE),
                        events.count(
                                GranaryEvent.Compile.class, event -> event.id().isEmpty())),
                () -> assertEquals(
                        counted.count(Counter.RESTORES_REFUSED),
                        events.count(
                                GranaryEvent.Restore.class,
                                event -> event.outcome() == GranaryEvent.Restore.Outcome.REFUSED)),
                () -> assertEquals(
                        counted.count(Counter.RESTORES_INCOMPATIBLE),
                        events.count(
                                GranaryEvent.Restore.class,
                                event -> event.outcome()
                                        == GranaryEvent.Restore.Outcome.INCOMPATIBLE)),
                () -> assertEquals(
                        counted.count(Counter.RESTORES_RECOMPILED),
                        events.count(
                                GranaryEvent.Restore.class,
                                event -> event.outcome()
                                        == GranaryEvent.Restore.Outcome.RECOMPILED)),
                () -> assertEquals(
                        counted.count(Counter.RESTORES_QUARANTINED),
                        events.count(
                                GranaryEvent.Restore.class,
                                event -> event.outcome()
                                        == GranaryEvent.Restore.Outcome.QUARANTINED)),
                () -> assertEquals(
                        counted.count(Counter.CLAIM_HITS),
                        events.count(
                                GranaryEvent.Wait.class,
                                event -> event.outcome() == GranaryEvent.Wait.Outcome.STORED)),
                () -> assertEquals(
                        counted.count(Counter.CLAIM_WAITS_GIVEN_UP),
                        events.count(
                                GranaryEvent.Wait.class,
                                event -> event.outcome() == GranaryEvent.Wait.Outcome.GIVEN_UP)),
                () -> assertEquals(
                        counted.layers().getFirst().count(Counter.LAYER_SKIPPED),
                        events.count(
                                GranaryEvent.Load.class,
                                event -> event.outcome() == GranaryEvent.Load.Outcome.SKIPPED)),
                () -> assertEquals(counted.count(Counter.LOCAL_EVICTED), evicted(events, "local")),
                () -> assertEquals(
                        counted.count(Counter.PROGRAMS_EVICTED), evicted(events, "memory")),
                () -> assertEquals(
                        counted.count(Counter.LAYER_UNAVAILABLE),
                        events.count(
                                GranaryEvent.Load.class,
                                event -> event.tier().equals(LAYER)
                                        && event.outcome()
                                                == GranaryEvent.Load.Outcome.UNAVAILABLE)),
                () -> assertEquals(
                        counted.count(Counter.LOCAL_STORED),
                        events.count(
                                GranaryEvent.Store.class,
                                event -> event.result() instanceof StoreResult.Stored)),
                () -> assertEquals(
                        counted.count(Counter.LAYER_STORED),
                        events.count(
                                GranaryEvent.Upload.class,
                                event -> event.result() instanceof StoreResult.Stored)));
    }

    /** Returns the name that the flight recorder has for an event of a listener. */
    private static String recordedName(GranaryEvent event) {
        return switch (event) {
            case GranaryEvent.Lookup lookup
            when lookup.source().filter(IN_MEMORY::contains).isPresent() -> "granary.MemoryHit";
            default -> "granary." + event.getClass().getSimpleName();
        };
    }

    private static Map<String, Long> counts(Stream<String> names) {
        return names.collect(
                Collectors.groupingBy(name -> name, TreeMap::new, Collectors.counting()));
    }

    @Test
    @DisplayName("over a random session of several threads, events agree with all counters, and"
            + " the flight recorder has as many of each kind")
    void agree() throws Exception {
        SplittableRandom seed = TestSeed.random("events");
        Collector collector = new Collector();
        FakeEngine engine = engine();
        GranaryStatistics counted;
        AtomicInteger thrown = new AtomicInteger();
        Path file = directory.resolve("session.jfr");
        try (Recording recording = new Recording()) {
            recording.enable("granary.MemoryHit");
            recording.start();
            Granary granary = open(config().capacity("1"), collector);
            try (granary) {
                List<Thread> threads = new ArrayList<>();
                Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
                for (int i = 0; i < THREADS; i++) {
                    SplittableRandom random = seed.split();
                    threads.add(Thread.ofPlatform().start(() -> {
                        try {
                            thrown.addAndGet(session(random, granary, engine));
                        } catch (Throwable e) {
                            failures.add(e);
                        }
                    }));
                }
                for (Thread thread : threads) {
                    thread.join();
                }
                assertEquals(List.of(), List.copyOf(failures));
            }
            counted = granary.statistics();
            recording.stop();
            recording.dump(file);
        }
        assertAgree(counted, collector);
        // without an event: lookups that waited for the failed build of another thread
        long joined = thrown.get() - counted.count(Counter.COMPILE_FAILURES);
        assertEquals(
                counted.count(Counter.PROGRAM_HITS)
                        + counted.count(Counter.PROGRAM_MISSES)
                        - joined,
                collector.of(GranaryEvent.Lookup.class).count());
        List<RecordedEvent> recorded = RecordingFile.readAllEvents(file).stream()
                .filter(event -> event.getEventType().getName().startsWith("granary."))
                .toList();
        assertEquals(
                counts(collector.events.stream().map(EventsTest::recordedName)),
                counts(recorded.stream().map(event -> event.getEventType().getName())));
        assertEquals(
                collector
                        .of(GranaryEvent.Load.class)
                        .mapToLong(GranaryEvent.Load::bytes)
                        .sum(),
                recorded.stream()
                        .filter(event -> event.getEventType().getName().equals("granary.Load"))
                        .mapToLong(event -> event.getLong("bytes"))
                        .sum());
    }

    /** Returns the one event of a type. */
    private static <E extends GranaryEvent> E only(Collector collector, Class<E> type) {
        List<E> all = collector.of(type).toList();
        assertEquals(1, all.size(), all::toString);
        return all.getFirst();
    }

    @Test
    @DisplayName("A compile, its store and its upload, and the restores of later processes, have"
            + " their id, tier, result and bytes")
    void fields() throws Exception {
        FakeEngine engine = engine();
        FakeDescriptor descriptor = FakeDescriptor.of("fields");
        String id = descriptor.getId().hash().hex();
        long bytes = FakeEngine.binaries(descriptor, "x".repeat(ENTRY_BYTES)).byteSize();
        Collector first = new Collector();
        try (Granary granary = open(config(), first)) {
            granary.primitive(engine, descriptor);
        }
        GranaryEvent.Lookup lookup = only(first, GranaryEvent.Lookup.class);
        assertEquals(
                new GranaryEvent.Lookup(
                        id,
                        engine.target(),
                        Optional.of(PrimitiveSource.COMPILED),
                        Optional.empty(),
                        0,
                        lookup.duration()),
                lookup);
        GranaryEvent.Compile compile = only(first, GranaryEvent.Compile.class);
        assertEquals(
                new GranaryEvent.Compile(id, engine.target(), Optional.empty(), compile.duration()),
                compile);
        assertTrue(compile.duration().compareTo(lookup.duration()) <= 0);
        GranaryEvent.Store store = only(first, GranaryEvent.Store.class);
        assertEquals(id, store.id());
        assertEquals(bytes, store.bytes());
        assertTrue(store.result() instanceof StoreResult.Stored, store::toString);
        GranaryEvent.Upload upload = only(first, GranaryEvent.Upload.class);
        assertEquals(
                new GranaryEvent.Upload(
                        id, LAYER, new StoreResult.Stored(bytes), bytes, upload.duration()),
                upload);

        Collector local = new Collector();
        try (Granary granary = open(config(), local)) {
            granary.primitive(engine, descriptor);
            granary.primitive(engine, descriptor);
        }
        GranaryEvent.Load load = only(local, GranaryEvent.Load.class);
        assertEquals(
                new GranaryEvent.Load(
                        id,
                        "local",
                        GranaryEvent.Load.Outcome.HIT,
                        Optional.empty(),
                        bytes,
                        load.duration()),
                load);
        assertEquals(
                List.of(PrimitiveSource.LOCAL, PrimitiveSource.MEMORY),
                local.of(GranaryEvent.Lookup.class)
                        .map(event -> event.source().orElseThrow())
                        .toList());

        Collector shared = new Collector();
        try (Granary granary = open(config().capacity("0"), shared)) {
            granary.primitive(engine, descriptor);
        }
        GranaryEvent.Lookup inLayer = only(shared, GranaryEvent.Lookup.class);
        assertEquals(Optional.of(LAYER), inLayer.layer());
        assertEquals(bytes, inLayer.bytes());
        GranaryEvent.Restore restore = only(shared, GranaryEvent.Restore.class);
        assertEquals(LAYER, restore.tier());
        assertEquals(GranaryEvent.Restore.Outcome.RESTORED, restore.outcome());
    }

    @Test
    @DisplayName("Programs that leave the memory tier for another one, or because of a lower"
            + " capacity, are evictions with their number")
    void memoryEvictions() throws Exception {
        FakeEngine engine = engine();
        Collector collector = new Collector();
        try (Granary granary = open(config(), collector)) {
            granary.setPrimitiveCacheCapacity(3);
            for (int i = 0; i < 4; i++) {
                granary.primitive(engine, FakeDescriptor.of("evicted " + i));
            }
            granary.setPrimitiveCacheCapacity(1);
            assertEquals(3, granary.statistics().count(Counter.PROGRAMS_EVICTED));
        }
        assertEquals(
                List.of(List.of("memory", 1L, 0L), List.of("memory", 2L, 0L)),
                collector
                        .of(GranaryEvent.Eviction.class)
                        .map(event -> List.of(event.tier(), event.entries(), event.bytes()))
                        .toList());
        assertTrue(collector.of(GranaryEvent.Eviction.class).noneMatch(event -> event.duration()
                .isNegative()));
    }

    @Test
    @DisplayName("A wait for another instance that compiles has its outcome and time")
    void waiting() throws Exception {
        Collector collector = new Collector();
        FakeEngine slow = engine();
        FakeDescriptor descriptor = FakeDescriptor.of("awaited");
        CountDownLatch isCompiling = new CountDownLatch(1);
        AtomicInteger seen = new AtomicInteger();
        slow.beforeCompile = () -> {
            isCompiling.countDown();
            Await.holds(() -> seen.get() > 0);
        };
        GranaryConfigBuilder config = config();
        try (Granary compiling = open(config);
                Granary waiting = open(config, collector)) {
            Thread other = Thread.ofPlatform().start(() -> {
                try {
                    compiling.primitive(slow, descriptor);
                } catch (CompileException e) {
                    throw new IllegalStateException(e);
                }
            });
            isCompiling.await();
            FakeEngine fast = engine();
            Thread waiter = Thread.ofPlatform().start(() -> {
                try {
                    waiting.primitive(fast, descriptor);
                } catch (CompileException e) {
                    throw new IllegalStateException(e);
                }
            });
            // it sleeps between two attempts to get the claim
            Await.holds(() -> waiter.getState() == Thread.State.TIMED_WAITING);
            seen.set(1);
            other.join();
            waiter.join();
            assertEquals(0, fast.compiles.get());
        }
        GranaryEvent.Wait wait = only(collector, GranaryEvent.Wait.class);
        assertEquals(GranaryEvent.Wait.Outcome.STORED, wait.outcome());
        assertFalse(wait.duration().isZero());
    }

    @Test
    @DisplayName("A listener that throws breaks no lookup, and receives all further events")
    void throwing() throws Exception {
        AtomicInteger lookups = new AtomicInteger();
        Collector collector = new Collector();
        GranaryListener broken = event -> {
            if (event instanceof GranaryEvent.Lookup) {
                lookups.incrementAndGet();
                throw new StackOverflowError("a test");
            }
        };
        FakeEngine engine = engine();
        Granary granary = open(config(), broken, collector);
        try (granary) {
            for (int i = 0; i < 5; i++) {
                granary.primitive(engine, FakeDescriptor.of("throwing " + i));
            }
        }
        assertEquals(5, lookups.get());
        assertEquals(5, collector.of(GranaryEvent.Lookup.class).count());
        assertEquals(0, granary.statistics().count(Counter.EVENTS_DROPPED));
    }

    @Test
    @DisplayName("A listener that blocks delays neither lookups nor other listeners; events beyond"
            + " its queue are dropped and counted, and close goes on without it")
    void blocking() throws Exception {
        AtomicInteger called = new AtomicInteger();
        CountDownLatch never = new CountDownLatch(1);
        AtomicInteger interrupted = new AtomicInteger();
        GranaryListener blocked = new GranaryListener() {
            @Override
            public boolean wantsMemoryHits() {
                return true;
            }

            @Override
            public void onEvent(GranaryEvent event) {
                if (!(event instanceof GranaryEvent.Lookup)) {
                    return;
                }
                called.incrementAndGet();
                try {
                    never.await();
                } catch (InterruptedException e) {
                    interrupted.incrementAndGet();
                }
            }
        };
        Collector collector = new Collector();
        FakeEngine engine = engine();
        int hits = 20_000;
        Granary granary = open(config().flushLimit(Duration.ofMillis(50)), blocked, collector);
        try (granary) {
            for (int i = 0; i < hits; i++) {
                granary.primitive(engine, FakeDescriptor.of("blocking"));
            }
            Await.holds(() -> called.get() == 1);
            // the other listener goes on, as far as it was fast enough for this loop
            Await.holds(() -> collector.of(GranaryEvent.Lookup.class).count() > hits / 10);
            assertTrue(granary.statistics().count(Counter.EVENTS_DROPPED) >= hits - 8192 - 10);
        }
        Await.holds(() -> interrupted.get() == 1);
        assertEquals(1, called.get());
    }

    @Test
    @DisplayName("A listener may look up, and close its own Granary")
    void reentrant() throws Exception {
        FakeEngine engine = engine();
        CountDownLatch isClosed = new CountDownLatch(1);
        AtomicReference<Granary> opened = new AtomicReference<>();
        GranaryListener closing = event -> {
            Granary granary = opened.get();
            if (event instanceof GranaryEvent.Compile
                    && granary != null
                    && isClosed.getCount() > 0) {
                try {
                    granary.primitive(engine, FakeDescriptor.of("by the listener"));
                } catch (CompileException e) {
                    throw new IllegalStateException(e);
                }
                granary.close();
                isClosed.countDown();
            }
        };
        try (Granary granary = open(config(), closing)) {
            opened.set(granary);
            granary.primitive(engine, FakeDescriptor.of("first"));
            isClosed.await();
        }
        assertEquals(2, engine.compiles.get());
    }

    @Test
    @DisplayName("an exception or error of a broken engine ends the event of its restore or"
            + " compile, with the cause")
    void brokenEngine() throws Exception {
        Collector collector = new Collector();
        FakeEngine engine = engine();
        try (Granary granary = open(config(), collector)) {
            bucket.store(
                    TestEntries.entry(BROKEN.getId(), FakeEngine.binaries(BROKEN, "elsewhere")));
            engine.restoreBehavior = FakeEngine.RestoreBehavior.THROWS;
            assertThrows(IllegalArgumentException.class, () -> granary.primitive(engine, BROKEN));
            engine.beforeCompile = () -> {
                throw new NoClassDefFoundError("of a test");
            };
            assertThrows(
                    NoClassDefFoundError.class,
                    () -> granary.primitive(engine, FakeDescriptor.of("other")));
        }
        GranaryEvent.Restore restore =
                collector.of(GranaryEvent.Restore.class).findFirst().orElseThrow();
        assertEquals(GranaryEvent.Restore.Outcome.FAILED, restore.outcome());
        assertTrue(restore.cause().orElse("").contains("this engine has a bug"));
        assertTrue(collector
                .of(GranaryEvent.Compile.class)
                .findFirst()
                .flatMap(GranaryEvent.Compile::failure)
                .orElse("")
                .contains("of a test"));
    }
}
