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
import dev.granary.coordinator.layer.CompileTimeEstimate;
import dev.granary.coordinator.layer.LookupTimeBudget;
import dev.granary.coordinator.layer.RemoteLayer;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.coordinator.statistics.LayerStatistics;
import dev.granary.coordinator.statistics.LookupCounter;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.coordinator.stores.OpenLayer;
import dev.granary.coordinator.stores.OpenStores;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Errors in background work, such as of exhausted memory: counted, never thrown at the user, and
 * never waited for.
 */
class BackgroundErrorsTest {
    private static final FakeDescriptor A = FakeDescriptor.of("a");

    /** A bucket whose methods throw errors. */
    private static final class ErrorBucket implements PersistentCache {
        final AtomicInteger uses = new AtomicInteger();
        private final boolean isStackOverflow;

        ErrorBucket(String kind) {
            this.isStackOverflow = kind.equals("StackOverflowError");
        }

        private Error error() {
            uses.incrementAndGet();
            return isStackOverflow
                    ? new StackOverflowError("of a test")
                    : new OutOfMemoryError("of a test");
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
    @DisplayName(
            "S2 A7 with a bucket that throws errors, the caller gets its primitive, flush ends,"
                    + " and causes are counted")
    void everyUse(String kind, @TempDir Path directory) throws Exception {
        ErrorBucket bucket = new ErrorBucket(kind);
        GranaryConfig config = new TestNode(directory, new FakeBucket())
                .config()
                .bucket("s3://test")
                .flushLimit(TestNode.LONG)
                .build();
        AtomicReference<@Nullable StoreResult> published = new AtomicReference<>();
        try (Granary granary = Granary.over(
                config,
                OpenStores.open(config, List.of(bucket), InstantSource.system()),
                PublishMode.UNPACKED,
                (_, result) -> published.set(result))) {
            granary.connect();
            assertEquals(
                    PrimitiveSource.COMPILED,
                    granary.obtain(new FakeEngine("one"), A).source());
            assertTrue(granary.flush(TestNode.LONG));
            GranaryStatistics statistics = TestNode.closed(granary);
            LayerStatistics layer = statistics.layers().getFirst();
            assertEquals(
                    List.of(1L, 1L),
                    List.of(
                            layer.results().unavailable(),
                            statistics.count(LookupCounter.LEFT_FOR_LATER)));
            assertTrue(layer.failure().orElse("").contains(kind), layer::toString);
            assertTrue(
                    published.get() instanceof StoreResult.Failed(String cause)
                            && cause.contains(kind),
                    () -> "published: " + published.get());
        }
        assertEquals(3, bucket.uses.get());
    }

    @Test
    @DisplayName(
            "S2 an error of a background probe is counted, is not printed, and the next probe is"
                    + " tried")
    void probe(@TempDir Path directory) throws Exception {
        CountDownLatch uncaught = new CountDownLatch(1);
        Thread.UncaughtExceptionHandler oldHandler = Thread.getDefaultUncaughtExceptionHandler();
        Thread.setDefaultUncaughtExceptionHandler((_, _) -> uncaught.countDown());
        BucketConfig config = new TestNode(directory, new FakeBucket())
                .config()
                .bucket("s3://test")
                .build()
                .buckets()
                .getFirst();
        ErrorBucket bucket = new ErrorBucket("OutOfMemoryError");
        Id id = TestEntries.id("probed");
        CompileTimeEstimate compileTimes = new CompileTimeEstimate();
        // so that the layer is probed in the background only
        LookupTimeBudget budget = new LookupTimeBudget(compileTimes, Duration.ZERO);
        try (RemoteLayer client = new RemoteLayer(
                OpenLayer.of(config, bucket), 0, compileTimes, budget, Optional.empty())) {
            for (int probes = 1; probes <= 3; probes++) {
                client.load(List.of(id), TestNode.LONG.toNanos());
                while (client.statistics().results().unavailable() < probes) {
                    // lookups are skipped while a probe is in progress
                    client.load(List.of(id), TestNode.LONG.toNanos());
                    Thread.onSpinWait();
                }
            }
            assertTrue(bucket.uses.get() >= 3);
            assertTrue(client.statistics().failure().orElse("").contains("OutOfMemoryError"));
        } finally {
            Thread.setDefaultUncaughtExceptionHandler(oldHandler);
        }
        assertEquals(
                1,
                uncaught.getCount(),
                "an error reached the top of a thread, which prints it to the user");
    }
}
