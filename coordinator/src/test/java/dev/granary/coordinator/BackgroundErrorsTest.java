package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Deadline;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.coordinator.statistics.GranaryStatistics.LayerStatistics;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.coordinator.tier.CompileTimes;
import dev.granary.coordinator.tier.CountedTier;
import dev.granary.coordinator.tier.TestTiers;
import dev.granary.coordinator.tier.TimeBudget;

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
    @DisplayName("with a bucket that throws errors, the caller gets its primitive, flush ends,"
            + " and causes are counted")
    void everyUse(String kind, @TempDir Path directory) throws Exception {
        ErrorBucket bucket = new ErrorBucket(kind);
        GranaryConfig config = new TestNode(directory, new FakeBucket())
                .config()
                .bucket("s3://test")
                .flushLimit(TestNode.LONG)
                .build();
        AtomicReference<@Nullable StoreResult> published = new AtomicReference<>();
        try (Granary granary = Granary.builder()
                .config(config)
                .over(TestTiers.buckets(List.of(bucket)), InstantSource.system())
                .published((_, _, result) -> published.set(result))
                .open()) {
            granary.connect();
            assertEquals(
                    PrimitiveSource.COMPILED,
                    granary.lookup(new FakeEngine("one"), A).source());
            assertTrue(granary.flush(TestNode.LONG));
            GranaryStatistics statistics = TestNode.closed(granary);
            LayerStatistics layer = statistics.layers().getFirst();
            assertEquals(
                    List.of(1L, 1L),
                    List.of(
                            layer.count(Counter.LAYER_UNAVAILABLE),
                            statistics.count(Counter.UPLOADS_LEFT)));
            assertTrue(layer.failure().orElse("").contains(kind), layer::toString);
            assertTrue(
                    published.get() instanceof StoreResult.Failed(String cause)
                            && cause.contains(kind),
                    () -> "published: " + published.get());
        }
        assertEquals(3, bucket.uses.get());
    }

    @Test
    @DisplayName("an error of a background probe is not printed, and the next probe is tried")
    void probe() throws Exception {
        CountDownLatch uncaught = new CountDownLatch(1);
        Thread.UncaughtExceptionHandler oldHandler = Thread.getDefaultUncaughtExceptionHandler();
        Thread.setDefaultUncaughtExceptionHandler((_, _) -> uncaught.countDown());
        ErrorBucket bucket = new ErrorBucket("OutOfMemoryError");
        List<Id> ids = List.of(TestEntries.id("probed"));
        // so that the layer is probed in the background only
        TimeBudget budget = new TimeBudget(new CompileTimes(), Duration.ZERO);
        try (CountedTier tier = TestTiers.layer(bucket, budget).tier()) {
            while (bucket.uses.get() < 3) {
                tier.load(ids, Deadline.NONE); // skipped while a probe is in progress
                Thread.onSpinWait();
            }
        } finally {
            Thread.setDefaultUncaughtExceptionHandler(oldHandler);
        }
        assertEquals(
                1,
                uncaught.getCount(),
                "an error reached the top of a thread, which prints it to the user");
    }
}
