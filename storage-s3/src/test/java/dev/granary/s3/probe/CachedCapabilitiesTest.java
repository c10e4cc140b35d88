package dev.granary.s3.probe;

import static dev.granary.s3.contract.Fault.DENIED;
import static dev.granary.s3.contract.Fault.TIMEOUT;
import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.CheckResult;
import dev.granary.cache.Entry;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.BucketTier;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.DeviatingObjectStore;
import dev.granary.s3.contract.DeviatingObjectStore.Deviation;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.contract.MemoryObjectStore;
import dev.granary.s3.statistics.BucketTierStatistics;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.s3.store.StoreFailure;
import dev.granary.testing.TestSeed;
import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Tests of the lifecycle of the marker, and of the requests for it. Each tier here is another
 * process.
 */
class CachedCapabilitiesTest {
    private static final String MARKER = "team/granary.json";

    private final TestEntries entries = new TestEntries(CachedCapabilitiesTest.class.getName());
    private final TestTicker ticker = new TestTicker();
    private final S3Config config =
            S3Config.builder("bucket").prefix("team").producer("granary test").build();

    private BucketTier process(MemoryObjectStore store) {
        return process(store, config);
    }

    private BucketTier process(MemoryObjectStore store, S3Config config) {
        return new BucketTier(
                config, () -> store, ticker, TestSeed.random("CachedCapabilitiesTest"));
    }

    private void publish(BucketTier tier) {
        StoreResult result = tier.store(entries.entry(20));
        assertThat(result).isStored();
    }

    private static CapabilityMarker marker(MemoryObjectStore store) {
        return assertInstanceOf(
                        CapabilityMarker.Parsed.Known.class,
                        CapabilityMarker.parse(store.body(MARKER)))
                .marker();
    }

    private static int requests(MemoryObjectStore store) {
        int count = store.requests().size();
        store.forgetRequests();
        return count;
    }

    @Test
    @DisplayName("F3 a marker with a date outside of the range of milliseconds stops no upload: its"
            + " other fields are used")
    void dates() {
        for (String date : List.of(
                "+1000000000-01-01T00:00:00Z",
                "-1000000000-01-01T00:00:00Z",
                "+292278995-01-01T00:00:00Z",
                "yesterday",
                "")) {
            MemoryObjectStore store = new MemoryObjectStore();
            store.place(
                    MARKER,
                    ("{\"format\":1,\"conditionalWrites\":\"FULL\","
                                    + "\"conditionalDelete\":\"UNTESTED\",\"probed\":\"" + date
                                    + "\"}")
                            .getBytes(UTF_8),
                    ObjectMarks.NONE);
            publish(process(store));
            assertEquals(List.of("GET", "PUT none-match", "GET"), store.requests(), date);
            assertEquals(0, marker(store).probedMillis(), date);
        }
    }

    @Test
    @DisplayName(
            "A7 the probing thread is interrupted: the next one probes, and does not rely on an"
                    + " assumption for minutes")
    void interrupted() {
        MemoryObjectStore store = new MemoryObjectStore();
        store.plan(FaultPlan.always(new Fault.Lost(Fault.TIMEOUT)));
        BucketTier tier = process(store);
        Thread.currentThread().interrupt();
        tier.conditionalWrites();
        assertTrue(Thread.interrupted());
        assertEquals(BucketTierStatistics.Breaker.CLOSED, tier.statistics().breaker());
        store.plan(FaultPlan.SOUND);
        tier.conditionalWrites();
        assertEquals(
                Optional.of(ConditionalWriteSupport.FULL), tier.statistics().conditionalWrites());
        assertEquals(ConditionalWriteSupport.FULL, marker(store).writes());
    }

    @Test
    @DisplayName(
            "R12 R15 the first publication of the first process probes and writes a marker; one"
                    + " GET for the next process, nothing after it")
    void lifecycle() {
        MemoryObjectStore store = new MemoryObjectStore();
        BucketTier first = process(store);
        assertEquals(Optional.empty(), first.statistics().conditionalWrites());
        publish(first);
        assertTrue(requests(store) > 70);
        assertEquals(
                new CapabilityMarker(
                        ConditionalWriteSupport.FULL,
                        ConditionalDeleteSupport.HONOURED,
                        1_700_000_000_000L,
                        "granary test"),
                marker(store));
        assertEquals(
                Optional.of(ConditionalWriteSupport.FULL), first.statistics().conditionalWrites());
        publish(first);
        assertEquals(List.of("PUT none-match", "GET"), store.requests());
        store.forgetRequests();
        BucketTier second = process(store);
        publish(second);
        publish(second);
        assertEquals(
                List.of("GET", "PUT none-match", "GET", "PUT none-match", "GET"), store.requests());
    }

    @Test
    @DisplayName("R12 R16 a process that only looks up, lists or opens never requests the marker")
    void onlyReads() throws Exception {
        MemoryObjectStore store = new MemoryObjectStore();
        BucketTier tier = process(store);
        tier.load(entries.id());
        tier.list(listed -> {});
        tier.statistics();
        assertEquals(List.of("GET", "GET", "LIST"), store.requests()); // the first for packs
        assertEquals(List.of(), store.keys());
    }

    @Test
    @DisplayName("R15 a marker is valid for seven days by the server's clock, then probed again and"
            + " replaced by If-Match")
    void expired() {
        MemoryObjectStore store = new MemoryObjectStore();
        publish(process(store));
        store.pass(CapabilityMarker.TIME_TO_LIVE.minusSeconds(1));
        ticker.pass(Duration.ofDays(1000)); // independent of this machine's clock
        requests(store);
        publish(process(store));
        assertEquals(3, requests(store));
        store.pass(Duration.ofSeconds(1));
        publish(process(store));
        assertEquals(
                "PUT match",
                store.requests().get(store.requests().size() - 3),
                "the marker, before the entry and the request for packs");
        assertTrue(requests(store) > 70);
        publish(process(store));
        assertEquals(3, requests(store));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "{",
                "[1]",
                "null",
                "7",
                "{\"format\":1}",
                "{\"format\":1,\"conditionalWrites\":\"SOME\",\"conditionalDelete\":\"HONOURED\"}",
                "{\"format\":0}",
                "{\"format\":\"one\"}",
                "<html>Sign in</html>"
            })
    @DisplayName("R15 a malformed marker is probed again and replaced")
    void broken(String text) {
        MemoryObjectStore store = new MemoryObjectStore();
        store.place(MARKER, text.getBytes(UTF_8), ObjectMarks.NONE);
        publish(process(store));
        assertTrue(requests(store) > 70);
        assertEquals(ConditionalWriteSupport.FULL, marker(store).writes());
    }

    @Test
    @DisplayName("R15 a marker that is too long is replaced as well; nothing of it is kept")
    void tooLong() {
        MemoryObjectStore store = new MemoryObjectStore();
        store.place(MARKER, new byte[CapabilityMarker.MAX_BYTES + 1], ObjectMarks.NONE);
        publish(process(store));
        assertEquals(ConditionalWriteSupport.FULL, marker(store).writes());
    }

    @Test
    @DisplayName("K11 with a marker of a newer format the server is probed, and the marker never"
            + " changed")
    void newer() {
        MemoryObjectStore store = new MemoryObjectStore();
        byte[] newer = "{\"format\":2,\"all\":\"new\"}".getBytes(UTF_8);
        store.place(MARKER, newer, ObjectMarks.NONE);
        publish(process(store));
        assertTrue(requests(store) > 70);
        assertEquals(new String(newer, UTF_8), new String(store.body(MARKER), UTF_8));
    }

    @Test
    @DisplayName("R15 a refused marker: full support is assumed, nothing is probed, and it is not"
            + " requested again")
    void refused() {
        MemoryObjectStore store = new MemoryObjectStore();
        store.script(new Fault.Lost(DENIED));
        // else a background thread reads the manifest within the day
        BucketTier tier = process(
                store,
                S3Config.builder("bucket")
                        .prefix("team")
                        .manifestInterval(Duration.ofDays(7))
                        .build());
        publish(tier);
        ticker.pass(Duration.ofDays(1));
        publish(tier);
        assertEquals(
                List.of("GET", "PUT none-match", "GET", "PUT none-match", "GET"), store.requests());
    }

    @Test
    @DisplayName("R15 an unreadable marker: full support is assumed for five minutes, then it is"
            + " requested again")
    void unreadable() {
        MemoryObjectStore store = new DeviatingObjectStore(Deviation.REFUSES_CONDITIONS);
        publish(process(store));
        store.forgetRequests();
        BucketTier tier = process(store);
        // so that the failures to come do not open the circuit breaker
        for (int i = 0; i < 6; i++) {
            tier.load(entries.id());
        }
        store.script(new Fault.Lost(TIMEOUT), new Fault.Lost(TIMEOUT), new Fault.Lost(TIMEOUT));
        assertThat(tier.store(entries.entry(20)))
                .as("a wrong assumption costs only a pause")
                .isRefused();
        ticker.pass(Duration.ofMinutes(5));
        publish(tier);
        assertEquals(
                Optional.of(ConditionalWriteSupport.NONE), tier.statistics().conditionalWrites());
    }

    @Test
    @DisplayName(
            "R3 no permission to write: one probe, refused, then the tier is read-only; nothing is"
                    + " left, nothing more is sent")
    void readOnly() {
        DeviatingObjectStore store = new DeviatingObjectStore(Deviation.FORBIDS_WRITES);
        BucketTier tier = process(store);
        assertThat(tier.store(entries.entry(20))).isRefused();
        assertTrue(requests(store) <= 4);
        assertThat(tier.store(entries.entry(20))).isRefused();
        assertEquals(0, requests(store));
        assertEquals(List.of(), store.keys());
    }

    @Test
    @DisplayName(
            "R15 a server without conditions gets entries by plain writes; the next process reads"
                    + " it from the marker")
    void withoutConditions() {
        for (Deviation deviation :
                List.of(Deviation.REFUSES_CONDITIONS, Deviation.IGNORES_CONDITIONS)) {
            DeviatingObjectStore store = new DeviatingObjectStore(deviation);
            publish(process(store));
            assertEquals(ConditionalWriteSupport.NONE, marker(store).writes());
            store.forgetRequests();
            publish(process(store));
            assertEquals(List.of("GET", "HEAD", "PUT", "GET"), store.requests());
            store.pass(CapabilityMarker.TIME_TO_LIVE);
            publish(process(store));
            assertEquals(ConditionalWriteSupport.NONE, marker(store).writes());
        }
    }

    @Test
    @DisplayName(
            "R15 a server that changed: the marker says FULL, a conditional write returns 501: one"
                    + " probe, and the entry is stored")
    void changed() {
        DeviatingObjectStore store = new DeviatingObjectStore(Deviation.REFUSES_CONDITIONS);
        store.place(
                MARKER,
                new CapabilityMarker(
                                ConditionalWriteSupport.FULL,
                                ConditionalDeleteSupport.HONOURED,
                                0,
                                "")
                        .json(),
                ObjectMarks.NONE);
        BucketTier tier = process(store);
        publish(tier);
        assertEquals(ConditionalWriteSupport.NONE, marker(store).writes());
        assertEquals(Duration.ZERO, tier.statistics().readOnlyFor());
        store.forgetRequests();
        publish(tier);
        assertEquals(List.of("HEAD", "PUT", "GET"), store.requests());
    }

    @Test
    @DisplayName(
            "R2 one upload gets 400 although conditions are honoured: the probe finds FULL, the"
                    + " tier pauses, and no second probe follows")
    void oneBadRequest() {
        MemoryObjectStore store = new MemoryObjectStore();
        BucketTier tier = process(store);
        publish(tier);
        StoreFailure bad = new StoreFailure(
                StoreFailure.Kind.NOT_SUPPORTED, 400, "EntityTooLarge", "too large");
        store.forgetRequests();
        store.script(new Fault.Lost(bad));
        assertThat(tier.store(entries.entry(20))).isRefused();
        assertEquals(List.of("PUT none-match"), store.requests());
        assertEquals(config.readOnlyPause(), tier.statistics().readOnlyFor());
    }

    @Test
    @DisplayName("R15 many concurrent stores in a process: one probe, the others wait for it")
    void singleFlight() throws Exception {
        MemoryObjectStore store = new MemoryObjectStore();
        BucketTier tier = process(store);
        List<Future<?>> all = new ArrayList<>();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < 20; i++) {
                Entry entry = entries.entry(20);
                all.add(threads.submit(() -> assertThat(tier.store(entry)).isStored()));
            }
            for (Future<?> one : all) {
                one.get();
            }
        }
        assertEquals(1 + 20, store.keys().size());
        assertTrue(requests(store) < 2 * 20 + 100, "a second probe");
    }

    @Test
    @DisplayName(
            "R15 races that are lost with 500 do not open the circuit breaker, nor does a silent"
                    + " probe")
    void breaker() {
        DeviatingObjectStore store = new DeviatingObjectStore(Deviation.LOSES_WITH_500);
        BucketTier tier = process(store);
        publish(tier);
        assertEquals(BucketTierStatistics.Breaker.CLOSED, tier.statistics().breaker());
        assertTrue(tier.check().stream().noneMatch(CheckResult.Problem.class::isInstance));
        assertEquals(BucketTierStatistics.Breaker.CLOSED, tier.statistics().breaker());
    }

    @Test
    @DisplayName("the marker is human-readable JSON")
    void readable() {
        String text = new String(
                new CapabilityMarker(
                                ConditionalWriteSupport.CREATE_ONLY,
                                ConditionalDeleteSupport.NOT_HONOURED,
                                1_700_000_000_000L,
                                "granary 1")
                        .json(),
                UTF_8);
        assertEquals("""
            {
              "format" : 1,
              "conditionalWrites" : "CREATE_ONLY",
              "conditionalDelete" : "NOT_HONOURED",
              "probed" : "2023-11-14T22:13:20Z",
              "producer" : "granary 1"
            }
            """, text);
    }
}
