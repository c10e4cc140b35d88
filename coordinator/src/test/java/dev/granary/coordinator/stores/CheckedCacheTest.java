package dev.granary.coordinator.stores;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.FakeBucket;
import dev.granary.coordinator.FakeDescriptor;
import dev.granary.coordinator.FakeEngine;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.ScriptedCache;
import dev.granary.coordinator.TestNode;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.PublishMode;
import dev.granary.coordinator.statistics.LookupCounter;
import dev.granary.coordinator.statistics.PrimitiveSource;
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
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Supplier;

/** Plugged caches that break the contract of their interface. */
class CheckedCacheTest {
    private static final Duration SHORT = Duration.ofMillis(20);
    private static final LoadResult.Absent ABSENT = new LoadResult.Absent();

    private final TestEntries entries = new TestEntries(getClass().getName());
    private final Entry entry = entries.entry(100);
    private final ScriptedCache plugged = new ScriptedCache();
    private final CountDownLatch released = new CountDownLatch(1);
    private final CheckedCache cache =
            new CheckedCache("plugged", plugged, TestNode.LONG, TestNode.LONG);
    private final CheckedCache impatient = new CheckedCache("plugged", plugged, SHORT, SHORT);

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
        return cache.load(entry.id());
    }

    private static Entry stored(Id id, Duration compileTime, Sha256 hash) {
        return Entry.ofStored(
                id, KernelBinaries.of(new byte[] {1, 2}), compileTime, hash, Optional::empty);
    }

    @ParameterizedTest
    @ValueSource(strings = {"exception", "hostile", "memory", "stack", "class"})
    @DisplayName("U15 A7 an exception or error of a plugged cache is a result with its cause")
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
    @DisplayName("U15 T1 an entry of another id, or with other bytes than its hash, is damage")
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
        assertThat(loadOf(() -> result)).isDamaged(expected);
    }

    @Test
    @DisplayName("U15 A9 metadata that cannot be read, or hang, are a miss within the limit")
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
        assertThat(impatient.load(entry.id())).isUnavailable();
    }

    private LoadResult hitWith(Supplier<Optional<EntryMetadata>> metadata) {
        return new LoadResult.Hit(Entry.ofStored(
                entry.id(), entry.binaries(), Duration.ZERO, entry.contentHash(), metadata));
    }

    @Test
    @DisplayName("U15 binaries that the caller cannot read are a miss")
    void unreadableBinaries() {
        LoadResult result = loadOf(() -> {
            // of the thread that the cache was called on
            Arena arena = Arena.ofConfined();
            return new LoadResult.Hit(Entry.ofStored(
                    entry.id(),
                    KernelBinaries.ofSegments(List.of(arena.allocate(8))),
                    Duration.ZERO,
                    entry.contentHash(),
                    Optional::empty));
        });
        assertThat(result).isUnavailable();
    }

    @Test
    @DisplayName("U15 T5 causes of a plugged cache are shown in one short line")
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
    @DisplayName(
            "U15 A9 while a load hangs, calls are answered without the cache; later it is used")
    void hangingLoad() {
        plugged.content.store(entry);
        plugged.onLoad = id -> {
            ScriptedCache.hang(released);
            return plugged.content.load(id);
        };
        // a queued call whose thread has not started is cancelled, and nothing hangs yet
        while (!isSkipped(impatient.load(entry.id()))) {
            assertTrue(plugged.loads.get() <= 1, "one thread hangs, not several");
        }
        assertEquals(1, plugged.loads.get());
        assertThat(impatient.store(entry)).isFailed();
        impatient.discard(entry);
        assertEquals(0, plugged.stores.get() + plugged.discards.get());
        released.countDown();
        Await.holds(() -> impatient.load(entry.id()) instanceof LoadResult.Hit);
    }

    private static boolean isSkipped(LoadResult result) {
        return assertThat(result).isUnavailable().startsWith("skipped");
    }

    @Test
    @DisplayName("U15 A9 a store or discard that hangs ends at its limit; the outcome is unknown")
    void hangingStore() {
        plugged.onDiscard = _ -> ScriptedCache.hang(released);
        while (plugged.discards.get() == 0) {
            impatient.discard(entry);
        }
        assertThat(impatient.store(entry)).isFailed();
        CheckedCache other = new CheckedCache("other", plugged, SHORT, SHORT);
        plugged.onStore = _ -> {
            ScriptedCache.hang(released);
            return StoreResult.DUPLICATE;
        };
        StoreResult result = other.store(entry);
        while (!(result instanceof StoreResult.Unknown)) { // it was cancelled in the queue
            assertThat(result).isFailed();
            assertEquals(0, plugged.stores.get(), "the outcome of a call that began is unknown");
            result = other.store(entry);
        }
        assertTrue(isSkipped(other.load(entry.id())));
        other.close();
    }

    @Test
    @DisplayName("U15 with more callers than threads, each gets its answer")
    void manyCallers() throws Exception {
        List<Entry> all = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            all.add(entries.entry(10 + i));
            plugged.content.store(all.getLast());
        }
        try (ExecutorService callers = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Callable<LoadResult>> calls = new ArrayList<>();
            all.forEach(each -> calls.add(() -> cache.load(each.id())));
            List<Future<LoadResult>> results = callers.invokeAll(calls);
            for (int i = 0; i < all.size(); i++) {
                assertThat(results.get(i).get()).isHitOf(all.get(i));
            }
        }
    }

    @Test
    @DisplayName("U15 A7 an interrupt of the caller changes no result, and stays pending")
    void interrupted() {
        plugged.content.store(entry);
        Thread.currentThread().interrupt();
        LoadResult result = cache.load(entry.id());
        assertTrue(Thread.interrupted(), "the interrupt was lost");
        assertThat(result).isHitOf(entry);
    }

    @Test
    @DisplayName("U15 closing the view does not close the cache of the application")
    void close() {
        cache.close();
        cache.close();
        assertEquals(0, plugged.closes.get());
        assertThrows(IllegalStateException.class, () -> cache.load(entry.id()));
    }

    @Test
    @DisplayName("U15 R16 with a local cache that hangs in load and store, kernels are compiled and"
            + " uploaded, and close ends")
    void hangingLocalTier(@TempDir Path directory) throws Exception {
        plugged.onLoad = _ -> {
            ScriptedCache.hang(released);
            return LoadResult.ABSENT;
        };
        plugged.onStore = _ -> {
            ScriptedCache.hang(released);
            return StoreResult.DUPLICATE;
        };
        FakeBucket bucket = new FakeBucket();
        GranaryConfig config = new TestNode(directory, bucket)
                .config()
                .bucket("s3://test")
                .flushLimit(TestNode.LONG)
                .build();
        FakeEngine engine = new FakeEngine("one");
        try (Granary granary = Granary.over(
                config,
                OpenStores.open(
                        config,
                        Optional.of(impatient),
                        List.of(OpenLayer.of(config.buckets().getFirst(), bucket)),
                        InstantSource.system()),
                PublishMode.UNPACKED,
                (_, _) -> {})) {
            for (String name : List.of("a", "b", "c")) {
                assertEquals(
                        PrimitiveSource.COMPILED,
                        granary.obtain(engine, FakeDescriptor.of(name)).source());
            }
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(3, bucket.entries.size(), "uploads do not need the local tier");
            assertEquals(3, granary.statistics().local().unavailable());
            assertEquals(
                    3,
                    granary.statistics().local().failed()
                            + granary.statistics().local().unknown());
            assertEquals(0, granary.statistics().count(LookupCounter.DROPPED));
        }
    }
}
