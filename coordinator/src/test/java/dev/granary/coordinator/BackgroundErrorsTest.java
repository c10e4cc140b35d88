package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.PublishMode;
import dev.granary.coordinator.lookup.CompileTimeEstimate;
import dev.granary.coordinator.lookup.LayerClient;
import dev.granary.coordinator.lookup.LookupTimeBudget;
import dev.granary.coordinator.statistics.LayerStatistics;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.coordinator.stores.CountingCache;
import dev.granary.coordinator.stores.OpenLayer;
import dev.granary.coordinator.stores.OpenStores;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Errors, such as of exhausted memory, in work behind the caller: counted, never thrown at the user, and nothing waits for them for ever. */
class BackgroundErrorsTest {
    private static final FakeDescriptor A = FakeDescriptor.of("a");

    /** A bucket of which every use ends in an error. */
    private static final class ErrorBucket implements PersistentCache {
        final AtomicInteger uses = new AtomicInteger();
        private final boolean isStackOverflow;

        ErrorBucket(String kind) {
            this.isStackOverflow = kind.equals("StackOverflowError");
        }

        private Error error() {
            uses.incrementAndGet();
            return isStackOverflow ? new StackOverflowError("of a test") : new OutOfMemoryError("of a test");
        }

        @Override
        public LoadResult load(Id id) {
            throw error();
        }

        @Override
        public StoreResult store(Entry entry) {
            throw error();
        }

        @Override
        public void discard(Entry entry) {}

        @Override
        public void close() {}
    }

    @ParameterizedTest
    @ValueSource(strings = {"OutOfMemoryError", "StackOverflowError"})
    @DisplayName("S2 A7 a bucket of which every use ends in an error: the caller gets its primitive, flush ends, the causes are counted")
    void everyUse(String kind, @TempDir Path directory) throws Exception {
        ErrorBucket bucket = new ErrorBucket(kind);
        GranaryConfig config = new TestNode(directory, new FakeBucket()).config().bucket("s3://test").flushLimit(TestNode.LONG).build();
        AtomicReference<@Nullable StoreResult> published = new AtomicReference<>();
        try (Granary granary = Granary.over(config, OpenStores.open(config, List.of(bucket), InstantSource.system()), PublishMode.ALONE,
                (_, result) -> published.set(result))) {
            granary.connect();
            assertEquals(PrimitiveSource.COMPILED, granary.obtain(new FakeEngine("one"), A).source());
            assertTrue(granary.flush(TestNode.LONG));
            LayerStatistics layer = granary.statistics().layers().getFirst();
            assertEquals(List.of(1L, 1L), List.of(layer.results().unavailable(), granary.statistics().leftForLater()));
            assertTrue(layer.trouble().orElse("").contains(kind), layer::toString);
            assertTrue(published.get() instanceof StoreResult.Failed(String cause) && cause.contains(kind), () -> "heard: " + published.get());
        }
        assertEquals(3, bucket.uses.get());
    }

    @Test
    @DisplayName("S2 an error of a look-up behind the caller is counted, ends no thread loudly, and the next one is tried")
    void probe(@TempDir Path directory) throws Exception {
        CountDownLatch loud = new CountDownLatch(1);
        Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
        Thread.setDefaultUncaughtExceptionHandler((_, _) -> loud.countDown());
        BucketConfig named = new TestNode(directory, new FakeBucket()).config().bucket("s3://test").build().buckets().getFirst();
        ErrorBucket bucket = new ErrorBucket("OutOfMemoryError");
        Id id = TestEntries.id("probed");
        CompileTimeEstimate cost = new CompileTimeEstimate();
        LookupTimeBudget worth = new LookupTimeBudget(cost, Duration.ZERO); // so that it is asked behind the caller only
        try (LayerClient asking = new LayerClient(new OpenLayer(named, new CountingCache(bucket), Optional.empty(), List.of()), cost, worth)) {
            for (int probes = 1; probes <= 3; probes++) {
                asking.ask(id, TestNode.LONG.toNanos());
                while (asking.statistics().results().unavailable() < probes) { // a probe that is under way is waited for, others are skipped
                    asking.ask(id, TestNode.LONG.toNanos());
                    Thread.onSpinWait();
                }
            }
            assertTrue(bucket.uses.get() >= 3);
            assertTrue(asking.statistics().trouble().orElse("").contains("OutOfMemoryError"));
        } finally {
            Thread.setDefaultUncaughtExceptionHandler(before);
        }
        assertEquals(1, loud.getCount(), "an error reached the top of a thread, which prints it to the user");
    }
}
