package dev.granary.s3.probe;

import static dev.granary.s3.contract.Fault.DENIED;
import static dev.granary.s3.contract.Fault.TIMEOUT;
import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.support.CheckResult;
import dev.granary.s3.BucketTier;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.DeviatingObjectStore;
import dev.granary.s3.contract.DeviatingObjectStore.Deviation;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.contract.MemoryObjectStore;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.probe.CapabilityMarker.Verdict;
import dev.granary.s3.statistics.BucketTierStatistics;
import dev.granary.s3.store.StoreFailure;
import dev.granary.testing.TestSeed;
import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/** Tests of the verdict, of its marker, and of the requests for both. */
class ServerCapabilitiesTest {
    private static final String MARKER = "team/granary.json";
    private static final Optional<ConditionalWriteSupport> FULL =
            Optional.of(ConditionalWriteSupport.FULL);
    private static final Optional<ConditionalWriteSupport> NONE =
            Optional.of(ConditionalWriteSupport.NONE);
    private static final Duration PROBE_LIMIT = Duration.ofMinutes(2);

    private final TestEntries entries = new TestEntries(ServerCapabilitiesTest.class.getName());
    private final TestTicker ticker = new TestTicker();
    private final SplittableRandom random = TestSeed.random("ServerCapabilitiesTest");
    private final S3Config config = at("http://s3.example:9000");
    private final AtomicInteger probes = new AtomicInteger();
    private final MemoryObjectStore store = new MemoryObjectStore();

    private static S3Config at(String endpoint) {
        return S3Config.builder("bucket")
                .endpoint(URI.create(endpoint))
                .prefix("team")
                .producer("granary test")
                .build();
    }

    private ServerCapabilities process(MemoryObjectStore server) {
        return process(server, config, () -> {});
    }

    /** Returns the capabilities of another process that runs a task before each probe. */
    private ServerCapabilities process(
            MemoryObjectStore server, S3Config settings, Runnable beforeProbe) {
        BucketLayout layout = new BucketLayout(settings.location());
        SplittableRandom own = random.split();
        return new ServerCapabilities(
                settings,
                layout,
                server,
                () -> {
                    probes.incrementAndGet();
                    beforeProbe.run();
                    return new CapabilityProbe(server, layout, ticker, own);
                },
                ticker,
                own);
    }

    private BucketTier tier(MemoryObjectStore server) {
        return new BucketTier(config, _ -> server, ticker, random.split());
    }

    private static CapabilityMarker marker(MemoryObjectStore server) {
        return CapabilityMarker.parse(server.body(MARKER)).orElseThrow();
    }

    private static Optional<ConditionalWriteSupport> marked(MemoryObjectStore server) {
        return marker(server).verdict().map(Verdict::writes);
    }

    private void place(CapabilityMarker marker) {
        store.place(MARKER, marker.json());
    }

    private static CapabilityMarker full(S3Config settings) {
        return CapabilityMarker.known(settings, new Verdict(ConditionalWriteSupport.FULL, true), 0);
    }

    private static List<String> requests(MemoryObjectStore server) {
        List<String> requests = server.requests();
        server.forgetRequests();
        return requests;
    }

    @Test
    @DisplayName("the first process claims the marker, probes, and replaces it by the"
            + " verdict; one GET for the next process, nothing after it")
    void lifecycle() {
        ServerCapabilities first = process(store);
        assertEquals(Optional.empty(), first.peek());
        assertFalse(first.honoursConditionalDelete());
        assertEquals(FULL, first.resolve());
        assertTrue(first.honoursConditionalDelete());
        List<String> requests = requests(store);
        assertTrue(requests.size() > 2 * ConditionalWriteRace.RACERS);
        assertEquals(List.of("GET", "PUT none-match"), requests.subList(0, 2));
        assertEquals("PUT match", requests.getLast());
        assertEquals(List.of(MARKER), store.keys());
        assertEquals(
                CapabilityMarker.known(
                        config,
                        new Verdict(ConditionalWriteSupport.FULL, true),
                        1_700_000_000_000L),
                marker(store));
        assertEquals(FULL, first.resolve());
        assertEquals(List.of(), requests(store));
        ServerCapabilities second = process(store);
        assertEquals(FULL, second.resolve());
        assertTrue(second.honoursConditionalDelete());
        assertEquals(FULL, second.resolve());
        assertEquals(List.of("GET"), requests(store));
    }

    @Test
    @DisplayName("while one process probes, the others send one GET each and have no verdict;"
            + " they ask again 10 s later at the earliest")
    void oneProber() {
        List<ServerCapabilities> others = new ArrayList<>();
        for (int i = 0; i < 7; i++) {
            others.add(process(store));
        }
        ServerCapabilities first = process(store, config, () -> {
            store.pass(Duration.ofSeconds(3));
            requests(store);
            for (ServerCapabilities other : others) {
                assertEquals(Optional.empty(), other.resolve());
                assertEquals(
                        "another process began to probe the server 3 s ago",
                        other.unknownBecause());
            }
            assertEquals(List.of("GET", "GET", "GET", "GET", "GET", "GET", "GET"), requests(store));
        });
        assertEquals(FULL, first.resolve());
        requests(store);
        ticker.pass(Duration.ofSeconds(9));
        others.forEach(other -> assertEquals(Optional.empty(), other.resolve()));
        assertEquals(List.of(), requests(store));
        ticker.pass(Duration.ofSeconds(1));
        others.forEach(other -> assertEquals(FULL, other.resolve()));
        assertEquals(7, requests(store).size());
        assertEquals(1, probes.get());
    }

    @Test
    @DisplayName("processes and threads that ask at once: one probe")
    void atOnce() throws Exception {
        List<Future<Optional<ConditionalWriteSupport>>> all = new ArrayList<>();
        List<ServerCapabilities> processes = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            processes.add(process(store));
        }
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < 32; i++) {
                ServerCapabilities one = processes.get(i % 8);
                all.add(threads.submit(one::resolve));
            }
            for (Future<Optional<ConditionalWriteSupport>> one : all) {
                assertTrue(one.get().equals(FULL) || one.get().isEmpty());
            }
        }
        assertEquals(1, probes.get());
        ticker.pass(Duration.ofSeconds(10));
        processes.forEach(one -> assertEquals(FULL, one.resolve()));
        assertEquals(1, probes.get());
    }

    @Test
    @DisplayName(
            "a process that loses the creation or the takeover of the marker probes" + " nothing")
    void lostClaim() {
        CapabilityMarker other = CapabilityMarker.probing(config, "other");
        store.script(new Fault.None(), new Fault.Meanwhile(() -> place(other)));
        ServerCapabilities first = process(store);
        assertEquals(Optional.empty(), first.resolve());
        assertEquals("another process has just begun to probe the server", first.unknownBecause());
        store.pass(PROBE_LIMIT.plusSeconds(1));
        store.script(new Fault.None(), new Fault.Meanwhile(() -> place(other)));
        assertEquals(Optional.empty(), process(store).resolve());
        assertEquals(List.of("GET", "PUT none-match", "GET", "PUT match"), requests(store));
        assertEquals(0, probes.get());
    }

    @Test
    @DisplayName("the marker of a process that ended while it probed is taken over after two"
            + " minutes by the server's clock")
    void takeover() {
        place(CapabilityMarker.probing(config, "gone"));
        ticker.pass(Duration.ofDays(1000)); // independent of this machine's clock
        store.pass(PROBE_LIMIT);
        ServerCapabilities next = process(store);
        assertEquals(Optional.empty(), next.resolve());
        store.pass(Duration.ofSeconds(1));
        ticker.pass(Duration.ofSeconds(10));
        requests(store);
        assertEquals(FULL, next.resolve());
        assertEquals(List.of("GET", "PUT match"), requests(store).subList(0, 2));
        assertEquals(FULL, marked(store));
    }

    @Test
    @DisplayName("a slow prober whose marker was taken over keeps its verdict, and leaves the"
            + " marker of the other one")
    void overtaken() {
        ServerCapabilities other = process(store);
        ServerCapabilities slow = process(store, config, () -> {
            store.pass(PROBE_LIMIT.plusSeconds(1));
            assertEquals(FULL, other.resolve());
            store.pass(Duration.ofSeconds(5));
        });
        assertEquals(FULL, slow.resolve());
        assertEquals(2, probes.get());
        assertEquals("2023-11-14T22:15:21Z", marker(store).probed());
    }

    @Test
    @DisplayName("the probe gets no response: unknown, and this process probes again 10 s"
            + " later, since the claim is its own")
    void silentProbe() {
        FaultPlan silent = FaultPlan.always(new Fault.Lost(TIMEOUT));
        ServerCapabilities process = process(
                store, config, () -> store.plan(probes.get() == 1 ? silent : FaultPlan.SOUND));
        assertEquals(Optional.empty(), process.resolve());
        assertEquals(TIMEOUT.toString(), process.unknownBecause());
        assertEquals(Optional.empty(), marked(store));
        store.plan(FaultPlan.SOUND);
        ticker.pass(Duration.ofSeconds(10));
        requests(store);
        ServerCapabilities second = process(store);
        assertEquals(Optional.empty(), second.resolve(), "claimed by the first");
        assertEquals(List.of("GET"), requests(store));
        assertEquals(FULL, process.resolve());
        assertEquals(2, probes.get());
    }

    @Test
    @DisplayName("a marker that was copied with its bucket, or is of another server, does not"
            + " count, nor does its claim")
    void migrated() {
        S3Config otherBucket = S3Config.builder("old")
                .endpoint(URI.create("http://s3.example:9000"))
                .prefix("team")
                .build();
        for (CapabilityMarker copied : List.of(
                full(at("http://old.example:9000")),
                full(at("https://s3.amazonaws.com")),
                full(otherBucket),
                CapabilityMarker.probing(otherBucket, "other"))) {
            probes.set(0);
            place(copied);
            requests(store);
            assertEquals(FULL, process(store).resolve());
            assertEquals(1, probes.get());
            assertEquals(List.of("GET", "PUT match"), requests(store).subList(0, 2));
            assertTrue(marker(store).isOf(config));
        }
    }

    @Test
    @DisplayName("a marker that cannot be read is unknown, not FULL: nothing is probed, and it"
            + " is requested again 10 s later")
    void unreadable() {
        place(full(config));
        for (StoreFailure failure : List.of(
                TIMEOUT,
                DENIED,
                new StoreFailure(StoreFailure.Kind.THROTTLED, 503, "SlowDown", "slow down"))) {
            ServerCapabilities process = process(store);
            store.script(new Fault.Lost(failure));
            assertEquals(Optional.empty(), process.resolve());
            assertEquals("the store marker: " + failure, process.unknownBecause());
            assertFalse(process.honoursConditionalDelete());
            assertEquals(Optional.empty(), process.resolve());
            assertEquals(List.of("GET"), requests(store));
            ticker.pass(Duration.ofSeconds(10));
            assertEquals(FULL, process.resolve());
            requests(store);
        }
        assertEquals(0, probes.get());
    }

    @Test
    @DisplayName("no permission to write is unknown: two requests, no probe, nothing is left")
    void readOnly() {
        DeviatingObjectStore server = new DeviatingObjectStore(Deviation.FORBIDS_WRITES);
        ServerCapabilities process = process(server);
        assertEquals(Optional.empty(), process.resolve());
        assertEquals(DENIED.toString(), process.unknownBecause());
        assertEquals(0, probes.get());
        assertEquals(List.of(), server.keys());
    }

    @Test
    @DisplayName("a verdict is valid for seven days by the server's clock, also in the memory"
            + " of a process")
    void expired() {
        ServerCapabilities first = process(store);
        assertEquals(FULL, first.resolve());
        store.pass(CapabilityMarker.TIME_TO_LIVE.minusSeconds(1));
        ServerCapabilities second = process(store);
        assertEquals(FULL, second.resolve());
        assertEquals(1, probes.get());
        ticker.pass(Duration.ofSeconds(1));
        store.pass(Duration.ofSeconds(1));
        assertEquals(Optional.empty(), second.peek());
        assertEquals(FULL, first.peek(), "it has a clock of its own");
        ticker.pass(Duration.ofSeconds(9));
        assertEquals(FULL, second.resolve());
        assertEquals(2, probes.get());
        ticker.pass(CapabilityMarker.TIME_TO_LIVE);
        assertEquals(Optional.empty(), first.peek());
        assertFalse(first.honoursConditionalDelete());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "{",
                "[1]",
                "null",
                "7",
                "{\"format\":2}",
                "{\"format\":2,\"state\":\"known\",\"conditionalWrites\":\"SOME\"}",
                "{\"format\":1,\"conditionalWrites\":\"FULL\",\"conditionalDelete\":\"HONOURED\"}",
                "{\"format\":0}",
                "{\"format\":\"one\"}",
                "<html>Sign in</html>"
            })
    @DisplayName("a malformed or older marker is probed again and replaced")
    void broken(String text) {
        store.place(MARKER, text.getBytes(UTF_8));
        assertEquals(FULL, process(store).resolve());
        assertEquals(1, probes.get());
        assertEquals(FULL, marked(store));
    }

    @Test
    @DisplayName("a marker that is too long is replaced as well; nothing of it is kept")
    void tooLong() {
        store.place(MARKER, new byte[CapabilityMarker.MAX_BYTES + 1]);
        assertEquals(FULL, process(store).resolve());
        assertEquals(FULL, marked(store));
    }

    @Test
    @DisplayName("with a marker of a newer format the server is probed, and the marker never"
            + " changed")
    void newer() {
        String newer = "{\"format\":3,\"all\":\"new\"}";
        store.place(MARKER, newer.getBytes(UTF_8));
        ServerCapabilities process = process(store);
        assertEquals(FULL, process.resolve());
        process.disprove("it was overwritten");
        assertEquals(1, probes.get());
        assertEquals(newer, new String(store.body(MARKER), UTF_8));
    }

    @Test
    @DisplayName("a server that refuses or ignores conditions: NONE, written to the marker by"
            + " a plain PUT, also after seven days")
    void withoutConditions() {
        for (Deviation deviation :
                List.of(Deviation.REFUSES_CONDITIONS, Deviation.IGNORES_CONDITIONS)) {
            DeviatingObjectStore server = new DeviatingObjectStore(deviation);
            assertEquals(NONE, process(server).resolve());
            assertEquals(NONE, marked(server));
            requests(server);
            assertEquals(NONE, process(server).resolve());
            assertEquals(List.of("GET"), requests(server));
            server.pass(CapabilityMarker.TIME_TO_LIVE);
            assertEquals(NONE, process(server).resolve());
            assertEquals(NONE, marked(server));
        }
    }

    @Test
    @DisplayName("If-Match is not exact: CREATE_ONLY, for this process and the next one")
    void createOnly() {
        DeviatingObjectStore server = new DeviatingObjectStore(Deviation.RACY_REPLACE);
        Optional<ConditionalWriteSupport> createOnly =
                Optional.of(ConditionalWriteSupport.CREATE_ONLY);
        assertEquals(createOnly, process(server).resolve());
        assertEquals(createOnly, process(server).resolve());
        assertEquals(1, probes.get());
    }

    @Test
    @DisplayName("the marker alone gets 400: the probe runs, and its verdict is written")
    void oneBadRequest() {
        store.script(
                new Fault.None(),
                new Fault.Lost(new StoreFailure(
                        StoreFailure.Kind.NOT_SUPPORTED, 400, "InvalidRequest", "what is that")));
        assertEquals(FULL, process(store).resolve());
        assertEquals("PUT", store.requests().getLast());
        assertEquals(FULL, marked(store));
    }

    @Test
    @DisplayName("a writer disproves the verdict: NONE for this process until it ends, and for"
            + " others by the marker")
    void disproved() {
        ServerCapabilities process = process(store);
        assertEquals(FULL, process.resolve());
        process.disprove("a swap was lost");
        assertEquals(NONE, process.resolve());
        assertFalse(process.honoursConditionalDelete());
        assertEquals(NONE, marked(store));
        assertEquals(NONE, process(store).resolve());
        requests(store);
        process.disprove("a swap was lost again");
        assertEquals(List.of(), requests(store));
        ticker.pass(Duration.ofDays(1000));
        assertEquals(NONE, process.resolve());
        assertInstanceOf(ProbeResult.Probed.class, process.probeNow());
        assertEquals(NONE, process.resolve());
        assertEquals(NONE, marked(store));
    }

    @Test
    @DisplayName("any number of checks without the right to delete: a probe leaves four objects,"
            + " each check overwrites one, and none probes before the verdict expires")
    void checksWithoutDeletion() {
        DeviatingObjectStore server = new DeviatingObjectStore(Deviation.FORBIDS_DELETIONS);
        for (int week = 1; week <= 2; week++) {
            for (int i = 0; i < 100; i++) {
                ProbeResult.Probed result = assertInstanceOf(
                        ProbeResult.Probed.class, process(server).probeNow());
                assertEquals(ConditionalWriteSupport.FULL, result.verdict().writes());
                assertEquals(
                        1,
                        result.results().stream()
                                .filter(CheckResult.Notice.class::isInstance)
                                .count());
                server.pass(Duration.ofHours(1));
            }
            assertEquals(
                    week * 4L + 1,
                    server.keys().stream()
                            .filter(key -> key.contains("/trial/"))
                            .count());
            server.pass(Duration.ofDays(7));
        }
        process(server).disprove("a swap was lost");
        server.forgetRequests();
        assertInstanceOf(ProbeResult.Probed.class, process(server).probeNow());
        assertTrue(requests(server).size() > 70);
        assertEquals(FULL, marked(server));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "https://s3.eu-central-1.amazonaws.com",
                "https://s3.dualstack.us-west-2.amazonaws.com",
                "https://s3.cn-north-1.amazonaws.com.cn"
            })
    @DisplayName("Amazon's own endpoints: two creates and a deletion instead of a race")
    void amazon(String endpoint) {
        ServerCapabilities process = process(store, at(endpoint), () -> {});
        assertEquals(FULL, process.resolve());
        assertTrue(process.honoursConditionalDelete());
        assertEquals(
                List.of(
                        "GET", // the marker
                        "PUT none-match",
                        "PUT none-match", // the probe
                        "PUT none-match",
                        "DELETE match",
                        "DELETE",
                        "PUT match"),
                requests(store));
        assertEquals("Amazon S3", marker(store).server());
        S3Config ofRegion = S3Config.builder("bucket").prefix("team").build();
        assertEquals(FULL, process(store, ofRegion, () -> {}).resolve());
        assertEquals(List.of("GET"), requests(store));
        assertEquals(
                FULL,
                process(store, at("https://amazonaws.com.example"), () -> {}).resolve());
        assertTrue(requests(store).size() > 2 * ConditionalWriteRace.RACERS);
    }

    @Test
    @DisplayName("an endpoint of Amazon that ignores a condition has no verdict; a deletion"
            + " that ignores one is not honoured")
    void amazonDeviates() {
        S3Config amazon = S3Config.builder("bucket").prefix("team").build();
        ServerCapabilities ignored =
                process(new DeviatingObjectStore(Deviation.IGNORES_CONDITIONS), amazon, () -> {});
        assertEquals(Optional.empty(), ignored.resolve());
        assertTrue(ignored.unknownBecause().contains("a second create of one object succeeded"));
        ServerCapabilities deleting = process(
                new DeviatingObjectStore(Deviation.IGNORES_CONDITIONAL_DELETE), amazon, () -> {});
        assertEquals(FULL, deleting.resolve());
        assertFalse(deleting.honoursConditionalDelete());
    }

    @Test
    @DisplayName("a process that looks up, lists or stores never requests the marker,"
            + " and probes nothing")
    void neverInTheWay() throws Exception {
        BucketTier tier = tier(store);
        tier.load(entries.id());
        tier.list(listed -> {});
        assertThat(tier.store(entries.entry(20))).isStored();
        assertEquals(
                1,
                store.requests().stream()
                        .filter(request -> request.startsWith("PUT"))
                        .count());
        assertTrue(store.keys().stream().allMatch(key -> key.contains("/e/")));
    }

    @Test
    @DisplayName("the probing thread is interrupted: the next one probes at once")
    void interrupted() {
        store.plan(FaultPlan.always(new Fault.Lost(TIMEOUT)));
        BucketTier tier = tier(store);
        Thread.currentThread().interrupt();
        assertTrue(tier.packObstacle().isPresent());
        assertTrue(Thread.interrupted());
        assertEquals(BucketTierStatistics.Breaker.CLOSED, tier.statistics().breaker());
        store.plan(FaultPlan.SOUND);
        assertEquals(Optional.empty(), tier.packObstacle());
    }

    @Test
    @DisplayName("races that are lost with 500 do not open the circuit breaker")
    void breaker() {
        BucketTier tier = tier(new DeviatingObjectStore(Deviation.LOSES_WITH_500));
        assertEquals(Optional.empty(), tier.packObstacle());
        assertEquals(BucketTierStatistics.Breaker.CLOSED, tier.statistics().breaker());
        assertTrue(tier.check().stream().noneMatch(CheckResult.Problem.class::isInstance));
        assertEquals(BucketTierStatistics.Breaker.CLOSED, tier.statistics().breaker());
    }

    @Test
    @DisplayName("the marker is human-readable JSON")
    void readable() {
        CapabilityMarker known = CapabilityMarker.known(
                config,
                new Verdict(ConditionalWriteSupport.CREATE_ONLY, false),
                1_700_000_000_000L);
        assertEquals("""
            {
              "format": 2,
              "state": "known",
              "conditionalWrites": "CREATE_ONLY",
              "conditionalDelete": "NOT_HONOURED",
              "server": "s3.example",
              "bucket": "bucket",
              "probed": "2023-11-14T22:13:20Z",
              "producer": "granary test"
            }
            """, new String(known.json(), UTF_8));
        assertEquals("""
            {
              "format": 2,
              "state": "probing",
              "server": "s3.example",
              "bucket": "bucket",
              "nonce": "00ff",
              "producer": "granary test"
            }
            """, new String(CapabilityMarker.probing(config, "00ff").json(), UTF_8));
    }
}
