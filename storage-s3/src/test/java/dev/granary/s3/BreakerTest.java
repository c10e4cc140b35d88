package dev.granary.s3;

import static dev.granary.s3.contract.Fault.ERROR_500;
import static dev.granary.testing.BucketAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.s3.config.S3Config;
import dev.granary.s3.config.S3ConfigBuilder;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.contract.MemoryObjectStore;
import dev.granary.s3.resilience.ResilientObjectStore;
import dev.granary.s3.statistics.BucketTierStatistics;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;
import dev.granary.testing.Await;
import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;

/** Tests of opening and closing of the circuit breaker. */
class BreakerTest {
    private static final Duration PAUSE = Duration.ofSeconds(30);
    private static final Duration AFTER_PAUSE = PAUSE.plusMillis(1);
    private static final int MINIMUM = 5;
    private static final int TRIALS = 3;

    private final MemoryObjectStore bucket = new MemoryObjectStore();
    private final TestTicker ticker = new TestTicker();
    private final ResilientObjectStore store = store(bucket, S3Config.builder("bucket"));

    BreakerTest() {
        bucket.place("key", new byte[1]);
    }

    private ResilientObjectStore store(MemoryObjectStore over, S3ConfigBuilder config) {
        return new ResilientObjectStore(_ -> over, config.breakerPause(PAUSE).build(), ticker);
    }

    private void assertIs(BucketTierStatistics.Breaker state) {
        assertEquals(state, store.statistics().breaker());
    }

    private void open() {
        bucket.plan(FaultPlan.always(new Fault.Lost(ERROR_500)));
        for (int i = 0; i < MINIMUM; i++) {
            store.get("key", 10);
        }
        assertIs(BucketTierStatistics.Breaker.OPEN);
        bucket.forgetRequests();
    }

    @Test
    @DisplayName("two listings without a response open it, as any requests do")
    void silentListing() {
        bucket.plan(FaultPlan.always(new Fault.Lost(Fault.TIMEOUT)));
        store.list("", _ -> {});
        assertIs(BucketTierStatistics.Breaker.CLOSED);
        store.list("", _ -> {});
        assertIs(BucketTierStatistics.Breaker.OPEN);
    }

    @Test
    @DisplayName("silence caused by a thread's own interrupt does not count against the bucket,"
            + " nor for listings")
    void ownInterrupt() {
        bucket.plan(FaultPlan.always(new Fault.AnswerLostThen(Fault.TIMEOUT, () -> {
            Thread.currentThread().interrupt();
        })));
        store.get("key", 10);
        assertTrue(Thread.interrupted());
        assertIs(BucketTierStatistics.Breaker.CLOSED);
        store.list("", _ -> {});
        assertTrue(Thread.interrupted());
        assertIs(BucketTierStatistics.Breaker.CLOSED);
    }

    @Test
    @DisplayName("two reads without a response open it at once, if nothing was received between"
            + " them; writes do not, which may take a server long")
    void silentMeanwhile() {
        assertThat(store.get("key", 10)).isFound();
        bucket.script(new Fault.Lost(Fault.TIMEOUT));
        assertThat(store.get("key", 10)).isFound();
        assertIs(BucketTierStatistics.Breaker.CLOSED);
        bucket.plan(FaultPlan.when(
                request -> request.key().equals("slow"),
                new Fault.AnswerLostThen(
                        Fault.TIMEOUT, () -> assertThat(store.get("key", 10)).isFound())));
        for (int i = 0; i < 2; i++) {
            assertThat(store.get("slow", 10)).isUnavailable();
            assertIs(BucketTierStatistics.Breaker.CLOSED);
        }
        ticker.pass(AFTER_PAUSE);
        bucket.plan(FaultPlan.always(new Fault.Lost(Fault.TIMEOUT)));
        for (int i = 0; i < 2; i++) {
            assertThat(store.put("key", new byte[1])).isUnknown();
            assertIs(BucketTierStatistics.Breaker.CLOSED);
        }
        for (int i = 0; i < 2; i++) {
            assertThat(store.get("key", 10)).isUnavailable();
        }
        assertIs(BucketTierStatistics.Breaker.OPEN);
    }

    @Test
    @DisplayName("a bucket for packs that falls silent after 100 responses: 100 successive reads"
            + " send six requests")
    void packsFallSilent() {
        ResilientObjectStore packs = new ResilientObjectStore(
                _ -> bucket, S3Config.builder("bucket").build().forPacks(), ticker);
        for (int i = 0; i < 100; i++) {
            assertThat(packs.get("none", 10)).isAbsent();
        }
        bucket.forgetRequests();
        bucket.plan(FaultPlan.always(new Fault.Lost(Fault.TIMEOUT)));
        for (int i = 0; i < 100; i++) { // successive, as a planner reads indexes
            assertThat(packs.get("none", 10)).isUnavailable();
        }
        assertEquals(6, bucket.requests().size());
        assertEquals(BucketTierStatistics.Breaker.OPEN, packs.statistics().breaker());
    }

    @Test
    @DisplayName("half-open: one request without a response opens it again, and the other two"
            + " test requests are not sent")
    void silentAgain() {
        bucket.plan(FaultPlan.always(new Fault.Lost(Fault.TIMEOUT)));
        store.get("key", 10);
        assertIs(BucketTierStatistics.Breaker.CLOSED);
        store.get("key", 10);
        assertIs(BucketTierStatistics.Breaker.OPEN);
        ticker.pass(AFTER_PAUSE);
        store.get("key", 10);
        assertIs(BucketTierStatistics.Breaker.OPEN);
    }

    @Test
    @DisplayName("one read without a response among others does not open it")
    void oneHangs() {
        for (int i = 0; i < 10; i++) {
            bucket.plan(FaultPlan.always(new Fault.Lost(Fault.TIMEOUT)));
            store.get("key", 10);
            bucket.plan(FaultPlan.SOUND);
            for (int j = 0; j < 2; j++) {
                assertThat(store.get("key", 10)).isFound();
            }
            assertIs(BucketTierStatistics.Breaker.CLOSED);
        }
    }

    @Test
    @DisplayName("five failed lookups open it, whatever they retried; then nothing is sent for the"
            + " whole pause")
    void opens() {
        bucket.plan(FaultPlan.always(new Fault.Lost(ERROR_500)));
        for (int i = 0; i < MINIMUM; i++) {
            assertIs(BucketTierStatistics.Breaker.CLOSED);
            store.get("key", 10);
        }
        assertIs(BucketTierStatistics.Breaker.OPEN);
        assertEquals(15, bucket.requests().size());
        ticker.pass(PAUSE.minusMillis(1));
        assertEquals(
                StoreFailure.Kind.SUSPENDED,
                assertThat(store.get("key", 10)).isUnavailable().kind());
        assertEquals(15, bucket.requests().size());
    }

    @Test
    @DisplayName(
            "one unreadable object among the first five of a process does not affect the others")
    void oneObject() {
        bucket.plan(
                FaultPlan.when(request -> request.key().equals("bad"), new Fault.Lost(ERROR_500)));
        assertThat(store.get("bad", 10)).isUnavailable();
        for (int i = 0; i < 20; i++) {
            assertThat(store.get("key", 10)).isFound();
        }
        assertIs(BucketTierStatistics.Breaker.CLOSED);
    }

    @Test
    @DisplayName("a failure that a retry heals does not count: a bucket with every other response"
            + " an error is used")
    void healedByRetry() {
        int[] count = {0};
        bucket.plan(_ -> count[0]++ % 2 == 0 ? new Fault.Lost(ERROR_500) : new Fault.None());
        for (int i = 0; i < 50; i++) {
            assertThat(store.get("key", 10)).isFound();
        }
        assertIs(BucketTierStatistics.Breaker.CLOSED);
    }

    @Test
    @DisplayName("half-open: if still failing, it opens again after three requests, for another"
            + " pause, as often as needed")
    void failingAgain() {
        open();
        for (int round = 0; round < 5; round++) {
            ticker.pass(AFTER_PAUSE);
            bucket.forgetRequests();
            for (int i = 0; i < 100; i++) {
                assertThat(store.put("key", new byte[1]))
                        .isOneOf(WriteResult.Unknown.class, WriteResult.NotSent.class);
            }
            assertEquals(TRIALS, bucket.requests().size());
            assertIs(BucketTierStatistics.Breaker.OPEN);
        }
    }

    @Test
    @DisplayName("half-open: if recovered, it closes after three requests")
    void recovers() {
        open();
        bucket.plan(FaultPlan.SOUND);
        ticker.pass(AFTER_PAUSE);
        for (int i = 0; i < TRIALS; i++) {
            assertThat(store.get("key", 10)).isFound();
        }
        assertIs(BucketTierStatistics.Breaker.CLOSED);
    }

    @Test
    @DisplayName("half-open: if recovered, it closes after three requests, however long the"
            + " pauses between them are")
    void recoversSlowly() {
        Duration pause = Duration.ofMillis(1);
        ResilientObjectStore seldomUsed = new ResilientObjectStore(
                _ -> bucket, S3Config.builder("bucket").breakerPause(pause).build(), ticker);
        bucket.plan(FaultPlan.always(new Fault.Lost(ERROR_500)));
        for (int i = 0; i < MINIMUM; i++) {
            seldomUsed.get("key", 10);
        }
        assertEquals(BucketTierStatistics.Breaker.OPEN, seldomUsed.statistics().breaker());
        bucket.plan(FaultPlan.SOUND);
        ticker.pass(pause.multipliedBy(2));
        for (int i = 0; i < TRIALS; i++) {
            assertThat(seldomUsed.get("key", 10)).isFound();
            // the timers of the library, if it has any, count real time
            LockSupport.parkNanos(pause.multipliedBy(20).toNanos());
        }
        assertEquals(
                BucketTierStatistics.Breaker.CLOSED, seldomUsed.statistics().breaker());
    }

    @Test
    @DisplayName("half-open: a listing in progress is none of the three requests")
    void listingInProgress() {
        open();
        bucket.plan(FaultPlan.SOUND);
        ticker.pass(AFTER_PAUSE);
        int[] listed = {0};
        store.list("", _ -> {
            listed[0]++;
            assertIs(BucketTierStatistics.Breaker.HALF_OPEN);
            for (int i = 0; i < TRIALS; i++) {
                assertThat(store.get("key", 10)).isFound();
            }
            assertIs(BucketTierStatistics.Breaker.CLOSED);
        });
        assertEquals(1, listed[0]);
    }

    @Test
    @DisplayName("half-open: of 100 concurrent threads three are admitted, and the others are"
            + " rejected at once")
    void halfOpenRequests() throws Exception {
        CountDownLatch leave = new CountDownLatch(1);
        MemoryObjectStore slow = new MemoryObjectStore() {
            @Override
            public GetResult get(String key, long limit) {
                GetResult result = super.get(key, limit);
                if (result instanceof GetResult.Absent) {
                    Await.released(leave);
                }
                return result;
            }
        };
        ResilientObjectStore shared = store(slow, S3Config.builder("bucket"));
        slow.plan(FaultPlan.always(new Fault.Lost(ERROR_500)));
        for (int i = 0; i < MINIMUM; i++) {
            shared.get("key", 10);
        }
        slow.plan(FaultPlan.SOUND);
        slow.forgetRequests();
        ticker.pass(AFTER_PAUSE);
        CountDownLatch suspended = new CountDownLatch(100 - TRIALS);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < 100; i++) {
                threads.execute(() -> {
                    if (shared.get("key", 10) instanceof GetResult.Unavailable) {
                        suspended.countDown();
                    }
                });
            }
            suspended.await();
            assertEquals(TRIALS, slow.requests().size());
            leave.countDown();
        }
        assertEquals(BucketTierStatistics.Breaker.CLOSED, shared.statistics().breaker());
    }

    @Test
    @DisplayName("slow responses never open it")
    void slow() {
        MemoryObjectStore slow = new MemoryObjectStore() {
            @Override
            public GetResult get(String key, long limit) {
                ticker.pass(Duration.ofMinutes(9));
                return super.get(key, limit);
            }
        };
        ResilientObjectStore over = store(slow, S3Config.builder("bucket"));
        for (int i = 0; i < 30; i++) {
            over.get("key", 10);
        }
        assertEquals(30, slow.requests().size());
    }

    @Test
    @DisplayName("404, 409, 412, refusals, unsupported and too large responses never open it")
    void responses() {
        bucket.place("large", new byte[100]);
        for (int i = 0; i < 50; i++) {
            assertThat(store.get("absent", 10)).isAbsent();
            assertThat(store.get("large", 10)).isTooLarge();
            assertThat(store.putIfAbsent("key", new byte[1])).isPreconditionFailed();
        }
        for (StoreFailure.Kind kind : StoreFailure.Kind.values()) {
            StoreFailure failure = new StoreFailure(kind, 400, "", "scripted");
            if (failure.isTransient() || failure.isUnsent()) {
                continue;
            }
            bucket.plan(FaultPlan.always(new Fault.Lost(failure)));
            for (int i = 0; i < 50; i++) {
                store.get("key", 10);
                store.put("key", new byte[1]);
            }
        }
        bucket.plan(FaultPlan.always(new Fault.Conflicting(Fault.Moment.BEFORE)));
        for (int i = 0; i < 50; i++) {
            assertThat(store.putIfAbsent("key", new byte[1])).isConflict();
        }
        assertIs(BucketTierStatistics.Breaker.CLOSED);
    }

    @Test
    @DisplayName("requests that queued before it opened are not sent after it has")
    void queued() throws Exception {
        CountDownLatch active = new CountDownLatch(1);
        CountDownLatch leave = new CountDownLatch(1);
        MemoryObjectStore sick = new MemoryObjectStore() {
            @Override
            public WriteResult put(String key, byte[] body) {
                active.countDown();
                Await.released(leave);
                return super.put(key, body);
            }
        };
        sick.plan(FaultPlan.always(new Fault.Lost(ERROR_500)));
        ResilientObjectStore over = store(
                sick,
                S3Config.builder("bucket").maxConnections(1).loadDeadline(Duration.ofMinutes(2)));
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            threads.add(Thread.ofPlatform().start(() -> over.put("key", new byte[1])));
        }
        active.await();
        Await.holds(() -> threads.stream()
                        .filter(thread -> thread.getState() == Thread.State.TIMED_WAITING)
                        .count()
                >= 49);
        leave.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals(MINIMUM, sick.requests().size());
        assertTrue(over.statistics().breaker() == BucketTierStatistics.Breaker.OPEN);
    }
}
