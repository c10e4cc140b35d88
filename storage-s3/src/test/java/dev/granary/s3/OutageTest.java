package dev.granary.s3;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.statistics.BucketTierStatistics;
import dev.granary.testing.TestSeed;
import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Tests of lasting outages: black holes, storms of refusals, and one failing object among many. */
@Execution(ExecutionMode.CONCURRENT) // its tests mostly wait
class OutageTest {
    private static final Duration REQUEST = Duration.ofMillis(300);
    private static final Duration DEADLINE = Duration.ofSeconds(1);
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final Duration BREAKER_PAUSE = Duration.ofSeconds(30);

    private final TestEntries entries = new TestEntries(OutageTest.class.getName());
    private final TestTicker ticker = new TestTicker();
    private final WireHistory history;

    OutageTest() throws IOException {
        this.history = new WireHistory();
    }

    @AfterEach
    void close() {
        history.close();
    }

    /** Opens a tier whose pauses end on command; the client's own deadlines are real. */
    private BucketTier open(S3ClientLibrary client, Duration request, Duration deadline) {
        S3Config config = history.config(client, request, deadline)
                .breakerPause(BREAKER_PAUSE)
                .absentMemory(Duration.ZERO)
                .build();
        return new BucketTier(
                config,
                _ -> ObjectStoreFactory.open(config),
                ticker,
                TestSeed.random("OutageTest"));
    }

    private Entry placed() {
        Entry entry = entries.entry(500);
        history.place(entry, false, TestSeed.random("placed"));
        return entry;
    }

    private static void awaitOpen(BucketTier tier, Entry entry) {
        for (int i = 0; tier.statistics().breaker() != BucketTierStatistics.Breaker.OPEN; i++) {
            assertTrue(i < 20, "the breaker never opens");
            long start = System.nanoTime();
            assertThat(tier.load(entry.id())).isUnavailable();
            WireHistory.assertInTime(start, DEADLINE);
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName(
            "a black hole: lookups end within the deadline, the breaker opens, its probes fail,"
                    + " and closes when the server is back")
    void blackHole(S3ClientLibrary client) throws Exception {
        Entry entry = placed();
        try (BucketTier tier = open(client, REQUEST, DEADLINE)) {
            history.faulty.plan(FaultPlan.always(new Fault.Lost(Fault.TIMEOUT)));
            awaitOpen(tier, entry);
            assertTrue(history.faulty.awaitIdle(LONG));
            int received = history.faulty.requests();
            for (int i = 0; i < 1000; i++) {
                assertThat(tier.load(entry.id())).isUnavailable();
            }
            assertThat(tier.store(entries.entry(10))).isFailed();
            assertEquals(received, history.faulty.requests(), "no requests are sent");
            ticker.pass(BREAKER_PAUSE);
            awaitOpen(tier, entry);
            assertEquals(BucketTierStatistics.Breaker.OPEN, tier.statistics().breaker());
            ticker.pass(BREAKER_PAUSE);
            assertThat(tier.load(entry.id())).isUnavailable();
            assertTrue(history.faulty.requests() > received, "it was probed again");
            history.faulty.plan(FaultPlan.SOUND);
            for (int i = 0;
                    i < 50 && tier.statistics().breaker() != BucketTierStatistics.Breaker.CLOSED;
                    i++) {
                ticker.pass(BREAKER_PAUSE);
                tier.load(entry.id());
            }
            assertEquals(BucketTierStatistics.Breaker.CLOSED, tier.statistics().breaker());
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("a storm of SlowDown: few requests are sent, and half-open detects its end")
    void storm(S3ClientLibrary client) {
        Entry entry = placed();
        try (BucketTier tier = open(client, LONG, LONG.multipliedBy(2))) {
            assertThat(tier.load(entry.id())).isHitOf(entry);
            history.faulty.plan(FaultPlan.always(new Fault.Lost(Fault.SLOW_DOWN)));
            for (int i = 0; i < 500; i++) {
                assertThat(tier.load(entry.id())).isUnavailable();
            }
            assertTrue(
                    history.faulty.requests() < 20,
                    () -> history.faulty.requests() + " requests into a storm");
            assertEquals(BucketTierStatistics.Breaker.OPEN, tier.statistics().breaker());
            assertEquals(1, tier.statistics().breakerOpenings());
            history.faulty.plan(FaultPlan.SOUND);
            assertThat(tier.load(entry.id())).isUnavailable();
            ticker.pass(BREAKER_PAUSE.plusMillis(1));
            assertThat(tier.load(entry.id())).isHitOf(entry);
            assertEquals(
                    BucketTierStatistics.Breaker.HALF_OPEN, tier.statistics().breaker());
            assertThat(tier.load(entry.id())).isHitOf(entry);
            assertThat(tier.load(entry.id())).isHitOf(entry);
            assertEquals(BucketTierStatistics.Breaker.CLOSED, tier.statistics().breaker());
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("one failing object does not fail the others of a bulk fetch")
    void oneFails(S3ClientLibrary client) throws Exception {
        List<Entry> all = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            all.add(placed());
        }
        String bad = all.get(17).id().hash().hex();
        history.faulty.plan(FaultPlan.when(
                request -> request.key().contains(bad), new Fault.Lost(Fault.ERROR_500)));
        try (BucketTier tier = open(client, LONG, LONG.multipliedBy(2));
                ExecutorService threads = Executors.newFixedThreadPool(8)) {
            List<Future<LoadResult>> loads = new ArrayList<>();
            all.forEach(entry -> loads.add(threads.submit(() -> tier.load(entry.id()))));
            for (int i = 0; i < all.size(); i++) {
                LoadResult result = loads.get(i).get();
                if (i == 17) {
                    assertThat(result).isUnavailable();
                } else {
                    assertThat(result).isHitOf(all.get(i));
                }
            }
            assertEquals(BucketTierStatistics.Breaker.CLOSED, tier.statistics().breaker());
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("credentials that expire and are renewed: misses and refusals meanwhile,"
            + " then all is as before")
    void expired(S3ClientLibrary client) {
        Entry entry = placed();
        Entry later = entries.entry(100);
        try (BucketTier tier = open(client, LONG, LONG.multipliedBy(2))) {
            assertThat(tier.load(entry.id())).isHitOf(entry);
            history.faulty.plan(FaultPlan.always(new Fault.Lost(Fault.EXPIRED)));
            int before = history.faulty.requests();
            for (int i = 0; i < 20; i++) {
                assertThat(tier.load(entry.id())).isUnavailable();
            }
            assertEquals(before + 20, history.faulty.requests(), "a refusal is not retried");
            assertThat(tier.store(later)).isRefused();
            assertEquals(BucketTierStatistics.Breaker.CLOSED, tier.statistics().breaker());
            history.faulty.plan(FaultPlan.SOUND);
            assertThat(tier.load(entry.id())).isHitOf(entry);
            assertThat(tier.store(later)).isStored();
        }
    }
}
