package dev.granary.coordinator.lookup;

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
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The cause that is told of a bucket whose answers come when their callers have gone on. */
class LayerFailureTest {
    private static final Id ID = TestEntries.id("asked");
    private static final long SHORT_NANOS = 1_000_000;

    private final GateBucket bucket = new GateBucket();
    private final LayerClient asking;

    LayerFailureTest(@TempDir Path directory) throws Exception {
        BucketConfig named = new TestNode(directory, new FakeBucket()).config().bucket("s3://test").build().buckets().getFirst();
        CompileTimeEstimate cost = new CompileTimeEstimate();
        this.asking = new LayerClient(bucket.as(named), cost, new LookupTimeBudget(cost, GranaryConfig.DEFAULT_BUCKET_WAIT));
    }

    @AfterEach
    void stop() {
        bucket.answer(3);
        asking.close();
    }

    /** A look-up whose caller has gone on, while the bucket is at it. */
    private void leave() throws InterruptedException {
        while (asking.statistics().late() == 0) { // its thread had not begun, so that it was not asked at all
            asking.ask(ID, SHORT_NANOS);
        }
        bucket.asked.take();
    }

    private LayerStatistics answer(Object answer) {
        bucket.answers.add(answer);
        while (asking.statistics().late() > 0) {
            Thread.onSpinWait();
        }
        return asking.statistics();
    }

    private static String trouble(LayerStatistics statistics) {
        return statistics.trouble().orElse("none");
    }

    @Test
    @DisplayName("U3 the failure that comes after its caller has gone on tells the cause, in place of the time that was waited")
    void cause() throws Exception {
        leave();
        assertTrue(trouble(asking.statistics()).startsWith("no answer within "));
        assertEquals("nobody answers", trouble(answer(new LoadResult.Unavailable("nobody answers"))));
        leave();
        assertEquals("nobody answers", trouble(answer(new LoadResult.Unavailable("left alone"))), "later failures are consequences");
        leave();
        assertEquals("nobody answers", trouble(answer(LoadResult.ABSENT)), "a real failure is not forgotten");
    }

    @Test
    @DisplayName("U3 A7 an error in place of an answer that nobody waits for is told, too")
    void error() throws Exception {
        leave();
        assertTrue(trouble(answer(new OutOfMemoryError("of a test"))).contains("OutOfMemoryError"));
    }

    @Test
    @DisplayName("U3 a sound bucket that is slow once, such as to load its client, is in no trouble; one that is slow again is")
    void slowOnce() throws Exception {
        leave();
        LayerStatistics after = answer(LoadResult.ABSENT);
        assertEquals(List.of("none", 1L), List.of(trouble(after), after.lateAnswers()));
        leave();
        assertTrue(trouble(answer(LoadResult.ABSENT)).startsWith("no answer within "));
        leave();
        assertEquals("reset", trouble(answer(new LoadResult.Unavailable("reset"))), "the cause of a later failure says more than a time");
    }
}
