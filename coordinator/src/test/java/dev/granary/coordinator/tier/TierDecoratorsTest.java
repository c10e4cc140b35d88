package dev.granary.coordinator.tier;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Deadline;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.FakeBucket;
import dev.granary.coordinator.FakeDescriptor;
import dev.granary.coordinator.FakeEngine;
import dev.granary.coordinator.GateBucket;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.RefusedThreads;
import dev.granary.coordinator.ScriptedCache;
import dev.granary.coordinator.TestNode;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.coordinator.tier.Tiers.Layer;
import dev.granary.testing.Await;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/**
 * The decorators of tiers, over plugged caches that break the contract of their interface, and over
 * caches whose answers come after their callers have left.
 */
class TierDecoratorsTest {
    private static final Duration SHORT = Duration.ofMillis(20);
    private static final LoadResult.Absent ABSENT = new LoadResult.Absent();

    private final TestEntries entries = new TestEntries(getClass().getName());
    private final Entry entry = entries.entry(100);
    private final ScriptedCache plugged = new ScriptedCache();
    private final CountDownLatch released = new CountDownLatch(1);
    private final CompileTimes compileTimes = new CompileTimes();
    private final TimeBudget budget = new TimeBudget(compileTimes, TestNode.LONG);
    private final BoundedTier cache = bounded(budget, TestNode.LONG);
    private final TimeBudget shortBudget = new TimeBudget(compileTimes, SHORT);
    private final BoundedTier impatient = bounded(shortBudget, SHORT);

    private BoundedTier bounded(TimeBudget budget, Duration storeLimit) {
        return new BoundedTier(
                "plugged", new CheckedCache(plugged), true, budget, Optional.of(storeLimit));
    }

    private static LoadResult load(CacheTier tier, Id id) {
        return tier.load(List.of(id), Deadline.after(TestNode.LONG));
    }

    @AfterEach
    void stop() {
        released.countDown();
        cache.close();
        impatient.close();
    }

    private static final class HostileException extends RuntimeException {
        private static final long serialVersionUID = 1;

        @Override
        public String getMessage() {
            throw new IllegalStateException("no text either");
        }
    }

    /** Returns the exception or error of that kind. */
    private static Throwable thrown(String kind) {
        return switch (kind) {
            case "exception" -> new IllegalStateException("a bug\nin two lines");
            case "hostile" -> new HostileException();
            case "memory" -> new OutOfMemoryError("of a test");
            case "stack" -> new StackOverflowError("of a test");
            default -> new NoClassDefFoundError("of a test");
        };
    }

    /** Throws the exception or error of that kind. */
    private static RuntimeException raise(String kind) {
        if (thrown(kind) instanceof RuntimeException exception) {
            throw exception;
        }
        throw (Error) thrown(kind);
    }

    private LoadResult loadOf(Supplier<LoadResult> result) {
        plugged.onLoad = _ -> result.get();
        return load(cache, entry.id());
    }

    private static Entry stored(Id id, Duration compileTime, Sha256 hash) {
        return Entry.ofStored(
                id, KernelBinaries.of(new byte[] {1, 2}), compileTime, hash, Optional::empty);
    }

    @ParameterizedTest
    @ValueSource(strings = {"exception", "hostile", "memory", "stack", "class"})
    @DisplayName("an exception or error of a plugged cache is a result with its cause")
    void throwing(String kind) {
        String lost = assertThat(loadOf(() -> {
                    throw raise(kind);
                }))
                .isUnavailable();
        assertFalse(lost.contains("\n"), lost);
        String name = thrown(kind).getClass().getSimpleName();
        assertTrue(lost.contains(name), lost);
        plugged.onStore = _ -> {
            throw raise(kind);
        };
        String unknown = assertThat(cache.store(entry)).isUnknown();
        assertTrue(unknown.contains(name), unknown);
        plugged.onDiscard = _ -> {
            throw raise(kind);
        };
        cache.discard(entry);
        assertEquals(1, plugged.discards.get());
    }

    @Test
    @DisplayName("an entry of another id, or with other bytes than its hash, is damage")
    void wrongEntries() {
        Id id = entry.id();
        Sha256 hash = Entry.contentHash(id, KernelBinaries.of(new byte[] {1, 2}));
        Entry sound = stored(id, Duration.ZERO, hash);
        assertThat(loadOf(() -> new LoadResult.Hit(sound))).isHitOf(sound);
        assertDamaged(DamageKind.WRONG_KEY, new LoadResult.Hit(entries.entry(100)));
        assertDamaged(
                DamageKind.CORRUPT,
                new LoadResult.Hit(stored(id, Duration.ZERO, entry.contentHash())));
        assertDamaged(
                DamageKind.CORRUPT, new LoadResult.Hit(stored(id, Duration.ofNanos(-1), hash)));
        // its nanoseconds would overflow in the caller
        assertDamaged(
                DamageKind.CORRUPT,
                new LoadResult.Hit(stored(id, Duration.ofSeconds(Long.MAX_VALUE), hash)));
    }

    private void assertDamaged(DamageKind expected, LoadResult result) {
        assertDamaged(expected, () -> result);
    }

    private void assertDamaged(DamageKind expected, Supplier<LoadResult> result) {
        assertThat(loadOf(result)).isDamaged(expected);
    }

    @Test
    @DisplayName("metadata that cannot be read, or hang, are a miss within the limit")
    void metadata() {
        assertInstanceOf(
                LoadResult.Unavailable.class,
                loadOf(() -> hitWith(() -> {
                    throw raise("class");
                })));
        plugged.onLoad = _ -> hitWith(() -> {
            ScriptedCache.hang(released);
            return Optional.empty();
        });
        assertThat(load(impatient, entry.id())).isUnavailable();
    }

    private LoadResult hitWith(Supplier<Optional<EntryMetadata>> metadata) {
        return new LoadResult.Hit(Entry.ofStored(
                entry.id(), entry.binaries(), Duration.ZERO, entry.contentHash(), metadata));
    }

    @Test
    @DisplayName("binaries that only one thread may read are damage")
    void unreadableBinaries() {
        assertDamaged(DamageKind.CORRUPT, () -> {
            Arena arena = Arena.ofConfined(); // of the thread that the cache was called on
            return new LoadResult.Hit(Entry.ofStored(
                    entry.id(),
                    KernelBinaries.ofSegments(List.of(arena.allocate(8))),
                    Duration.ZERO,
                    entry.contentHash(),
                    Optional::empty));
        });
    }

    @Test
    @DisplayName("causes of a plugged cache are shown in one short line")
    void longCauses() {
        LoadResult.Unavailable lost = assertInstanceOf(
                LoadResult.Unavailable.class,
                loadOf(() -> new LoadResult.Unavailable("line\nline".repeat(1000))));
        assertTrue(lost.cause().length() < 250 && !lost.cause().contains("\n"), lost::cause);
        assertEquals(ABSENT, loadOf(() -> ABSENT));
        assertEquals(
                new LoadResult.Damaged(DamageKind.FOREIGN, "a page"),
                loadOf(() -> new LoadResult.Damaged(DamageKind.FOREIGN, "a\u0007page")));
    }

    @Test
    @DisplayName("a cache that hangs costs its budget; when it answers, a probe finds out")
    void hangingLoad() {
        plugged.content.store(Entry.of(
                entry.id(),
                entry.binaries(),
                Duration.ofMinutes(1),
                entry.metadata().orElseThrow()));
        plugged.onLoad = id -> {
            ScriptedCache.hang(released);
            return plugged.content.load(id);
        };
        while (!isSkipped(load(impatient, entry.id()))) {
            // a queued call whose thread has not started is cancelled
        }
        assertTrue(plugged.loads.get() <= 3, "one lookup, its repetition and one probe");
        impatient.discard(entry);
        assertEquals(0, plugged.discards.get());
        released.countDown();
        Await.holds(() -> load(impatient, entry.id()) instanceof LoadResult.Hit);
    }

    private static boolean isSkipped(LoadResult result) {
        return assertThat(result).isUnavailable().startsWith("skipped");
    }

    @Test
    @DisplayName("a store that hangs ends at its limit with an unknown outcome; the next one"
            + " fails at once, until it returns")
    void hangingStore() {
        BoundedTier tier = bounded(budget, SHORT); // which waits for loads
        plugged.onStore = _ -> {
            ScriptedCache.hang(released);
            return StoreResult.DUPLICATE;
        };
        assertInstanceOf(StoreResult.Unknown.class, tier.store(entry));
        assertTrue(assertThat(tier.store(entry)).isFailed().startsWith("skipped"));
        Await.holds(() -> plugged.stores.get() == 1);
        assertEquals(LoadResult.ABSENT, load(tier, entry.id()), "loads go on");
        released.countDown();
        Await.holds(() -> tier.store(entry).equals(StoreResult.DUPLICATE));
        tier.close();
    }

    @Test
    @DisplayName("with more callers than threads, each gets its answer")
    void manyCallers() throws Exception {
        List<Entry> all = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            all.add(entries.entry(10 + i));
            plugged.content.store(all.getLast());
        }
        try (ExecutorService callers = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Callable<LoadResult>> calls = new ArrayList<>();
            all.forEach(each -> calls.add(() -> load(cache, each.id())));
            List<Future<LoadResult>> results = callers.invokeAll(calls);
            for (int i = 0; i < all.size(); i++) {
                assertThat(results.get(i).get()).isHitOf(all.get(i));
            }
        }
    }

    @Test
    @DisplayName("an interrupt ends the wait for a load, not for a store, and stays pending")
    void interrupted() {
        plugged.onLoad = _ -> {
            ScriptedCache.hang(released);
            return ABSENT;
        };
        Thread.currentThread().interrupt();
        StoreResult stored = cache.store(entry);
        LoadResult result = load(cache, entry.id());
        assertTrue(Thread.interrupted(), "the interrupt was lost");
        assertInstanceOf(StoreResult.Stored.class, stored);
        assertEquals(new LoadResult.Unavailable("interrupted"), result);
    }

    @Test
    @DisplayName("closing the tier does not close the cache of the application")
    void close() {
        cache.close();
        cache.close();
        assertEquals(0, plugged.closes.get());
        assertEquals(new LoadResult.Unavailable("closed by this process"), load(cache, entry.id()));
    }

    @Test
    @DisplayName("a read-only tier loads, and neither stores nor discards")
    void readOnly() {
        plugged.content.store(entry);
        CacheTier tier = new CacheTier("plugged", plugged, false);
        assertThat(load(tier, entry.id())).isHitOf(entry);
        assertEquals(
                StoreResult.Scope.STORE,
                assertInstanceOf(StoreResult.Refused.class, tier.store(entry)).scope());
        tier.discard(entry);
        assertEquals(0, plugged.stores.get() + plugged.discards.get());
    }

    @Test
    @DisplayName("A lookup without a thread is a failure, and the next one is sent")
    void loadWithoutThread() {
        String refused = new OutOfMemoryError(RefusedThreads.MESSAGE).toString();
        try (RefusedThreads _ = new RefusedThreads()) {
            assertEquals(new LoadResult.Unavailable(refused), load(cache, entry.id()));
        }
        assertEquals(Optional.of(refused), cache.failure());
        assertEquals(LoadResult.ABSENT, load(cache, entry.id()));
        assertEquals(Optional.empty(), cache.failure(), "an answer ends the failure");
    }

    @Test
    @DisplayName("A probe without a thread ends, so that another one can follow")
    void probeWithoutThread() {
        budget.charge(Long.MAX_VALUE / 2);
        try (RefusedThreads _ = new RefusedThreads()) {
            assertTrue(isSkipped(load(cache, entry.id())));
        }
        assertTrue(budget.beginProbe());
    }

    @Test
    @DisplayName("A failure at the id of a readable namespace is a failure of the lookup, which"
            + " requests no further id")
    void failureAtOtherNamespace() {
        Id other = TestEntries.id("of a readable namespace");
        List<Id> requested = new ArrayList<>();
        plugged.onLoad = id -> {
            requested.add(id);
            return id.equals(other) ? new LoadResult.Unavailable("reset") : LoadResult.ABSENT;
        };
        assertEquals(
                new LoadResult.Unavailable("reset"),
                cache.load(
                        List.of(entry.id(), other, TestEntries.id("third")),
                        Deadline.after(TestNode.LONG)));
        assertEquals(List.of(entry.id(), other), requested);
        assertEquals(Optional.of("reset"), cache.failure());
    }

    @Test
    @DisplayName("a late answer shows the cause of a failure, or that there was none")
    void lateAnswers() throws Exception {
        GateBucket bucket = new GateBucket();
        Layer layer = TestTiers.layer(bucket, budget);
        List<Id> ids = List.of(entry.id());
        for (Object late : List.of(
                new LoadResult.Unavailable("no route to host"),
                LoadResult.ABSENT,
                new OutOfMemoryError("of a test"))) {
            while (bucket.requested.isEmpty()) {
                // again if its thread had not started, so that nothing was sent
                layer.tier().load(ids, Deadline.after(SHORT));
            }
            bucket.requested.take();
            bucket.answers.add(late);
            String expected =
                    switch (late) {
                        case LoadResult.Unavailable(String cause) -> cause;
                        case OutOfMemoryError error -> error.toString();
                        default -> "none";
                    };
            Await.holds(() -> TestTiers.failure(layer.statistics()).equals(expected));
        }
        layer.tier().close();
    }

    @Test
    @DisplayName("with a local cache that hangs in loads, kernels are compiled and"
            + " uploaded, and close ends")
    void hangingLocalTier(@TempDir Path directory) throws Exception {
        plugged.onLoad = _ -> {
            ScriptedCache.hang(released);
            return LoadResult.ABSENT;
        };
        FakeBucket bucket = new FakeBucket();
        GranaryConfig config = new TestNode(directory, bucket)
                .config()
                .flushLimit(TestNode.LONG)
                .build();
        FakeEngine engine = new FakeEngine("one");
        try (Granary granary = Granary.builder()
                .config(config)
                .local(plugged)
                .layer("far", bucket)
                .open()) {
            for (String name : List.of("a", "b", "c")) {
                assertEquals(
                        PrimitiveSource.COMPILED,
                        granary.lookup(engine, FakeDescriptor.of(name)).source());
            }
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(3, bucket.entries.size(), "uploads do not need the local tier");
            assertEquals(0, granary.statistics().count(Counter.STORES_DROPPED));
        }
    }

    @Test
    @DisplayName("A load without an answer is started once more after a quarter of its wait, and"
            + " the first answer counts; a question is asked once")
    void repeated() {
        TimeBudget seconds = new TimeBudget(compileTimes, Duration.ofSeconds(2));
        try (BoundedTier tier = bounded(seconds, SHORT)) {
            plugged.onLoad = _ -> {
                if (plugged.loads.get() == 1) {
                    ScriptedCache.hang(released);
                }
                return new LoadResult.Hit(entry);
            };
            assertThat(load(tier, entry.id())).isHitOf(entry);
            assertEquals(2, plugged.loads.get());
            AtomicInteger questions = new AtomicInteger();
            assertEquals(
                    "without an answer",
                    tier.ask(
                            () -> {
                                questions.incrementAndGet();
                                ScriptedCache.hang(released);
                                return "late";
                            },
                            _ -> "without an answer"));
            assertEquals(1, questions.get());
        }
    }
}
