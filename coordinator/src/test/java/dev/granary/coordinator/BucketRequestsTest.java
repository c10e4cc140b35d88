package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.machine.Totals;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics.LayerStatistics.Breaker;
import dev.granary.s3.BucketTier;
import dev.granary.s3.ObjectStoreFactory;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.contract.FaultyS3;
import dev.granary.s3.embedded.EmbeddedS3;
import dev.granary.testing.Await;
import dev.granary.testing.TestSeed;
import dev.granary.testing.TestTicker;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** Tests of the requests and of the circuit breaker in the statistics of a layer. */
class BucketRequestsTest {
    private static final int MOST_LOOKUPS = 20;

    private final Path directory;
    private final FakeEngine engine = new FakeEngine("one");
    private int kernels;

    BucketRequestsTest(@TempDir Path directory) {
        this.directory = directory;
    }

    private GranaryConfig config(String bucket) throws Exception {
        return new TestNode(directory.resolve("local"), new FakeBucket())
                .config()
                .bucket(bucket)
                .endpoint("http://127.0.0.1:1")
                .bucketWait(TestNode.LONG) // no lookup skips the bucket
                .build();
    }

    private void obtainAnother(Granary granary) throws Exception {
        granary.lookup(engine, FakeDescriptor.of("kernel " + kernels++));
    }

    private static List<Object> requests(Granary granary) {
        return List.of(sent(granary), retries(granary), breaker(granary), openings(granary));
    }

    private static long sent(Granary granary) {
        return granary.statistics().count(Counter.BUCKET_REQUESTS);
    }

    private static long retries(Granary granary) {
        return granary.statistics().count(Counter.BUCKET_RETRIES);
    }

    private static long openings(Granary granary) {
        return granary.statistics().count(Counter.BREAKER_OPENINGS);
    }

    private static Breaker breaker(Granary granary) {
        return granary.statistics().layers().getFirst().breaker().orElseThrow();
    }

    @Test
    @DisplayName("the statistics of a layer show its requests and retries, and the breaker"
            + " closed, open, half-open and closed again")
    void states() throws Exception {
        TestTicker ticker = new TestTicker();
        Duration pause = Duration.ofSeconds(30);
        GranaryConfig config = config("s3://kernels?access=read");
        try (EmbeddedS3 server = EmbeddedS3.start(null);
                FaultyS3 faulty = FaultyS3.inFrontOf(server)) {
            server.createBucket("kernels");
            S3Config settings = S3Config.builder("kernels")
                    .endpoint(faulty.endpoint())
                    .credentials(server.accessKey(), server.secretKey())
                    .requestTimeout(TestNode.LONG)
                    .loadDeadline(TestNode.LONG.multipliedBy(2))
                    .breakerPause(pause)
                    .refreshInterval(Duration.ZERO)
                    .build();
            BucketTier tier = new BucketTier(
                    settings,
                    _ -> ObjectStoreFactory.open(settings),
                    ticker,
                    TestSeed.random("BucketRequestsTest"));
            tier.load(FakeDescriptor.of("opens the connection").getId());
            try (Granary granary = TestNode.over(config, tier)) {
                assertEquals(List.of(1L, 0L, Breaker.CLOSED, 0L), requests(granary));

                faulty.plan(FaultPlan.script(new Fault.Lost(Fault.ERROR_500)));
                obtainAnother(granary);
                assertEquals(List.of(3L, 1L, Breaker.CLOSED, 0L), requests(granary));

                faulty.plan(FaultPlan.always(new Fault.Lost(Fault.SLOW_DOWN)));
                for (int i = 0; breaker(granary) == Breaker.CLOSED; i++) {
                    assertTrue(i < MOST_LOOKUPS, "the breaker never opens");
                    obtainAnother(granary);
                }
                List<Object> open = requests(granary);
                long sent = faulty.requests();
                long retries = retries(granary);
                assertEquals(List.of(sent, retries, Breaker.OPEN, 1L), open);
                obtainAnother(granary);
                assertEquals(open, requests(granary), "no request is sent");

                faulty.plan(FaultPlan.SOUND);
                ticker.pass(pause.plusMillis(1));
                obtainAnother(granary);
                assertEquals(Breaker.HALF_OPEN, breaker(granary));
                obtainAnother(granary);
                obtainAnother(granary);
                assertEquals(List.of(sent + 3, retries, Breaker.CLOSED, 1L), requests(granary));
            }
            Map<String, Long> totals = new Totals(config.directory()).read();
            assertEquals(
                    List.of((long) faulty.requests(), 1L),
                    List.of(totals.get("bucket-requests"), totals.get("breaker-openings")));
            assertTrue(totals.getOrDefault("bucket-retries", 0L) > 1, totals::toString);
        }
    }

    @Test
    @DisplayName("the requests of packs, over connections of their own, are included")
    void packs() throws Exception {
        try (TestFleet fleet = new TestFleet(directory);
                Granary granary = fleet.openInPacks("ci")) {
            obtainAnother(granary);
            obtainAnother(granary);
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(1, fleet.keys("/p/").size());
            Await.holds(() -> sent(granary) == fleet.proxy.requests());
            assertEquals(Breaker.CLOSED, breaker(granary));
        }
    }

    @Test
    @DisplayName("a dead endpoint gets no request")
    void deadEndpoint() throws Exception {
        System.setProperty("aws.accessKeyId", "key");
        System.setProperty("aws.secretAccessKey", "secret");
        try (Granary granary = Granary.open(config("s3://kernels?access=read"))) {
            for (int i = 0; i < MOST_LOOKUPS; i++) {
                obtainAnother(granary);
            }
            assertEquals(0, sent(granary));
            assertEquals(Breaker.CLOSED, breaker(granary));
            assertEquals(
                    "127.0.0.1:1 refuses the connection",
                    granary.statistics().layers().getFirst().failure().orElse(""));
        } finally {
            System.clearProperty("aws.accessKeyId");
            System.clearProperty("aws.secretAccessKey");
        }
    }
}
