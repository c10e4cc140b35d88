package dev.granary.coordinator;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics.LayerStatistics;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.testing.Await;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Real client libraries with servers that are slow, silent or read-only. */
@ExtendWith(UncheckedCredentials.class)
class SlowBucketTest {
    private static final FakeDescriptor A = FakeDescriptor.of("a");

    private final Path directory;
    private final FakeEngine engine = new FakeEngine("one");

    SlowBucketTest(@TempDir Path directory) {
        this.directory = directory;
    }

    private GranaryConfigBuilder config(String local, String... buckets) throws Exception {
        GranaryConfigBuilder builder = new TestNode(directory.resolve(local), new FakeBucket())
                .config()
                .flushLimit(TestNode.LONG);
        for (String bucket : buckets) {
            builder.bucket(bucket);
        }
        return builder;
    }

    @Test
    @DisplayName("open and close send nothing: connections to a silent server end without a byte")
    void openSendsNothing() throws Exception {
        try (SilentServer server = new SilentServer()) {
            Granary.open(config(
                                    "local",
                                    "s3://test/a?endpoint=" + server.endpoint(),
                                    "s3://test/b?endpoint=" + server.endpoint() + "&client=minio")
                            .build())
                    .close();
            for (SocketChannel opened = server.accept(); opened != null; opened = server.accept()) {
                try (SocketChannel connection = opened) {
                    assertEquals(-1, connection.read(ByteBuffer.allocate(1)));
                }
            }
            try (Granary granary =
                    Granary.open(config("local", "s3://test?endpoint=" + server.endpoint())
                            .flushLimit(Duration.ZERO)
                            .build())) {
                assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, A).source());
                Await.holds(() -> receives(server)); // a lookup does send
                // closing does not wait for it, and the directory is about to be deleted
                Await.holds(() -> granary.statistics().count(Counter.LOCAL_STORED) == 1);
            }
        }
    }

    /** Returns true if the next connection of the server has a byte. */
    private static boolean receives(SilentServer server) {
        try (SocketChannel connection = server.accept()) {
            return connection != null && connection.read(ByteBuffer.allocate(1)) == 1;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    @DisplayName("a silent layer costs one wait; the next one has the entry, and only it is used"
            + " from then on")
    void silentLayer() throws Exception {
        FakeDescriptor b = FakeDescriptor.of("b");
        try (MinimalS3Server company = new MinimalS3Server();
                SilentServer team = new SilentServer()) {
            String second = "s3://company?endpoint=" + company.endpoint();
            try (Granary other = Granary.open(config("other", second).build())) {
                other.primitive(engine, A);
                other.primitive(engine, b);
            }
            GranaryConfig layered = config(
                            "local",
                            "s3://team?endpoint=" + team.endpoint(),
                            second + "&access=read")
                    .flushLimit(Duration.ZERO)
                    .build();
            try (Granary granary = Granary.open(layered)) {
                for (FakeDescriptor each : List.of(A, b)) {
                    LookupResult<FakePrimitive> result = granary.lookup(engine, each);
                    assertEquals(PrimitiveSource.BUCKET, result.source());
                    assertEquals(OptionalInt.of(1), result.layer());
                }
                LayerStatistics silent = granary.statistics().layers().getFirst();
                assertEquals(
                        List.of(1L, 1L),
                        List.of(
                                silent.count(Counter.LAYER_UNAVAILABLE),
                                silent.count(Counter.LAYER_SKIPPED)));
                assertEquals(
                        List.of(2L, 0L),
                        List.of(
                                hits(granary, 1),
                                granary.statistics().layers().get(1).count(Counter.LAYER_SKIPPED)));
                // closing does not wait for it, and the directory is about to be deleted
                Await.holds(() -> granary.statistics().count(Counter.LOCAL_STORED) == 2);
            }
            assertEquals(2, company.puts.get(), "a read-only layer gets no write");
        }
        assertEquals(2, engine.compiles.get());
    }

    @Test
    @DisplayName("One request of a lookup that hangs costs a part of its wait: the entry comes by a"
            + " second one, and the layer stays in use")
    void oneHangs() throws Exception {
        List<FakeDescriptor> kernels = TestFleet.kernels(8);
        try (TestFleet fleet = new TestFleet(directory)) {
            fleet.publish(kernels.stream()
                    .map(kernel ->
                            TestEntries.entry(kernel.getId(), FakeEngine.binaries(kernel, "ci")))
                    .toList());
            try (Granary granary = fleet.open("node")) {
                assertEquals(
                        PrimitiveSource.BUCKET,
                        granary.lookup(engine, kernels.getFirst()).source());
                fleet.plan(FaultPlan.once(
                        request -> request.key().contains("/p/"),
                        2,
                        new Fault.Lost(Fault.TIMEOUT)));
                for (FakeDescriptor each : kernels) {
                    assertEquals(
                            each.equals(kernels.getFirst())
                                    ? PrimitiveSource.MEMORY
                                    : PrimitiveSource.BUCKET,
                            granary.lookup(engine, each).source());
                }
                LayerStatistics layer = granary.statistics().layers().getFirst();
                assertEquals(0, layer.count(Counter.LAYER_UNAVAILABLE));
                assertEquals(0, layer.count(Counter.LAYER_SKIPPED));
            }
        }
        assertEquals(0, engine.compiles.get());
    }

    private static long hits(Granary granary, int layer) {
        return granary.statistics().layers().get(layer).count(Counter.LAYER_HITS);
    }

    @Test
    @DisplayName("a slow bucket without hits is skipped, counted, and used again when it is fast")
    void slowBucket() throws Exception {
        int threads = 16;
        try (MinimalS3Server server = new MinimalS3Server();
                ExecutorService pool = Executors.newFixedThreadPool(threads)) {
            String bucket = "s3://test?endpoint=" + server.endpoint();
            try (Granary other = Granary.open(config("other", bucket).build())) {
                other.primitive(engine, A);
            }
            server.delay = Duration.ofMillis(500);
            GranaryConfig without =
                    config("unused", bucket + "&access=read").capacity("0").build();
            try (Granary granary = Granary.open(without)) {
                granary.setPrimitiveCacheCapacity(0);
                List<Future<PrimitiveSource>> futures = new ArrayList<>();
                for (int i = 0; i < threads; i++) {
                    FakeDescriptor each = FakeDescriptor.of("k" + i);
                    futures.add(pool.submit(() -> granary.lookup(engine, each).source()));
                }
                for (Future<PrimitiveSource> each : futures) {
                    assertEquals(PrimitiveSource.COMPILED, each.get());
                }
                assertEquals(
                        0,
                        granary.statistics().layers().getFirst().count(Counter.LAYER_SKIPPED),
                        "while compile times are unknown it is used");
                for (int i = 0; i < 3; i++) {
                    // their compile time does not suffice for a lookup yet
                    assertEquals(
                            PrimitiveSource.COMPILED,
                            granary.lookup(engine, FakeDescriptor.of("later " + i))
                                    .source());
                }
                assertEquals(
                        3, granary.statistics().layers().getFirst().count(Counter.LAYER_SKIPPED));
                assertEquals(
                        threads,
                        granary.statistics().layers().getFirst().count(Counter.LAYER_LOOKUPS)
                                - granary.statistics()
                                        .layers()
                                        .getFirst()
                                        .count(Counter.LAYER_HITS));

                server.delay = Duration.ZERO;
                Await.holds(() -> granary.lookup(engine, A).source() == PrimitiveSource.BUCKET);
                assertEquals(1, hits(granary, 0));
                assertEquals(
                        0,
                        granary.statistics().count(Counter.CLAIMS_UNAVAILABLE),
                        "without a local tier there is nothing to wait for");
            }
        }
    }

    @Test
    @DisplayName(
            "without write permission the local tier is used, one line is logged, one at close with"
                    + " what is left, and the next process has local hits")
    void refusedWrites() throws Exception {
        PrintStream standardError = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        int kernels = 20;
        try (MinimalS3Server server = new MinimalS3Server()) {
            server.refusesWrites = true;
            GranaryConfig config = config("local", "s3://refusing?endpoint=" + server.endpoint())
                    .build();
            System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
            try (Granary granary = Granary.open(config)) {
                for (int i = 0; i < kernels; i++) {
                    granary.primitive(engine, FakeDescriptor.of("k" + i));
                    assertTrue(granary.flush(TestNode.LONG));
                }
                assertEquals(kernels, granary.statistics().count(Counter.LOCAL_STORED));
                assertEquals(0, granary.statistics().count(Counter.LAYER_STORED));
                assertEquals(
                        kernels,
                        TestNode.closed(granary).count(Counter.UPLOADS_LEFT),
                        "the permission may come back");
            } finally {
                System.setErr(standardError);
            }
            assertEquals(1, server.puts.get());
            List<String> lines = log.toString(StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> line.contains("s3://refusing"))
                    .toList();
            assertEquals(2, lines.size(), log::toString);
            assertTrue(lines.get(0).contains("refused a write, so uploads pause"), lines::toString);
            assertTrue(
                    lines.get(1)
                            .contains("Not uploaded to s3://refusing at " + server.endpoint() + ": "
                                    + kernels + " so far"),
                    lines::toString);
            try (Granary next = Granary.open(config)) {
                assertEquals(
                        PrimitiveSource.LOCAL,
                        next.lookup(engine, FakeDescriptor.of("k7")).source());
            }
        }
    }

    @Test
    @DisplayName("if all buckets are read-only, compiled entries are stored locally and reported as"
            + " stored")
    void onlyRead() throws Exception {
        try (MinimalS3Server server = new MinimalS3Server()) {
            List<StoreResult> results = new ArrayList<>();
            GranaryConfig config = config(
                            "local", "s3://test?access=read&endpoint=" + server.endpoint())
                    .build();
            try (Granary granary = Granary.builder()
                    .config(config)
                    .published((_, _, result) -> results.add(result))
                    .open()) {
                granary.connect(); // loads the client, so that the lookup does not time out
                server.gets.set(0);
                granary.primitive(engine, A);
                assertTrue(granary.flush(TestNode.LONG));
                assertEquals(1, granary.statistics().count(Counter.LOCAL_STORED));
                assertTrue(!granary.publish(A.getId()));
            }
            assertThat(results.getFirst()).isStored();
            assertEquals(List.of(0, 1), List.of(server.puts.get(), server.gets.get()));
        }
    }
}
