package dev.granary.coordinator.layer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.FakeBucket;
import dev.granary.coordinator.GateBucket;
import dev.granary.coordinator.TestNode;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.LayerStatistics;
import dev.granary.testing.Await;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The reported cause for a bucket whose answers come after the timeouts of their callers. */
class LayerFailureTest {
    private static final Id ID = TestEntries.id("requested");
    private static final long SHORT_NANOS = 1_000_000;

    private final GateBucket bucket = new GateBucket();
    private final RemoteLayer client;

    LayerFailureTest(@TempDir Path directory) throws Exception {
        BucketConfig named = new TestNode(directory, new FakeBucket())
                .config()
                .bucket("s3://test")
                .build()
                .buckets()
                .getFirst();
        CompileTimeEstimate compileTimes = new CompileTimeEstimate();
        this.client = new RemoteLayer(
                bucket.as(named),
                0,
                compileTimes,
                new LookupTimeBudget(compileTimes, GranaryConfig.DEFAULT_BUCKET_WAIT),
                Optional.empty());
    }

    @AfterEach
    void stop() {
        bucket.answer(3);
        client.close();
    }

    /** Does a lookup that times out while the bucket is working on it. */
    private void lookUpWithTimeout() throws InterruptedException {
        while (client.statistics().late() == 0) {
            // its thread had not started, so that nothing was sent
            client.load(List.of(ID), SHORT_NANOS);
        }
        bucket.requested.take();
    }

    private LayerStatistics answer(Object answer) {
        bucket.answers.add(answer);
        Await.holds(() -> client.statistics().late() == 0);
        return client.statistics();
    }

    private static String failure(LayerStatistics statistics) {
        return statistics.failure().orElse("none");
    }

    @Test
    @DisplayName("U3 a failure that comes after the timeout replaces the timeout as the cause")
    void cause() throws Exception {
        lookUpWithTimeout();
        assertTrue(failure(client.statistics()).startsWith("no answer within "));
        assertEquals(
                "no route to host",
                failure(answer(new LoadResult.Unavailable("no route to host"))));
        lookUpWithTimeout();
        assertEquals(
                "no route to host",
                failure(answer(new LoadResult.Unavailable("connection closed"))),
                "later failures are consequences");
        lookUpWithTimeout();
        assertEquals(
                "no route to host", failure(answer(LoadResult.ABSENT)), "a real failure stays");
    }

    @Test
    @DisplayName("U3 A7 an error instead of a late answer is reported, too")
    void error() throws Exception {
        lookUpWithTimeout();
        assertTrue(failure(answer(new OutOfMemoryError("of a test"))).contains("OutOfMemoryError"));
    }

    @Test
    @DisplayName(
            "U3 one late answer, such as while the client loads, is no failure; a second one is")
    void slowOnce() throws Exception {
        lookUpWithTimeout();
        LayerStatistics after = answer(LoadResult.ABSENT);
        assertEquals(List.of("none", 1L), List.of(failure(after), after.lateAnswers()));
        lookUpWithTimeout();
        assertTrue(failure(answer(LoadResult.ABSENT)).startsWith("no answer within "));
        lookUpWithTimeout();
        assertEquals(
                "reset",
                failure(answer(new LoadResult.Unavailable("reset"))),
                "a later cause is more precise than a timeout");
    }
}
