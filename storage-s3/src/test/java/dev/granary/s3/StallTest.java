package dev.granary.s3;

import static dev.granary.testing.BucketAssertions.assertThat;
import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.support.Ticker;
import dev.granary.s3.aws.AwsTransport;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.minio.MinioTransport;
import dev.granary.s3.resilience.ResilientObjectStore;
import dev.granary.s3.statistics.BucketTierStatistics;
import dev.granary.s3.store.ConnectionSettings;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.TrafficCounter;
import dev.granary.testing.Await;

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
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Tests of both transports and their layers against slow and silent servers. */
@Execution(ExecutionMode.CONCURRENT) // its tests mostly wait
class StallTest {
    private static final Duration SHORT = Duration.ofMillis(100);

    /** A limit that no test waits for. */
    private static final Duration LONG = Duration.ofMinutes(10);

    private static final String FOUND =
            "HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: 1000000\r\n\r\n";

    private final TestEntries entries = new TestEntries(StallTest.class.getName());
    private final RawHttpServer server = new RawHttpServer();

    StallTest() throws IOException {}

    @AfterEach
    void close() throws IOException {
        server.close();
    }

    private S3Config config(S3ClientLibrary client, Duration stall) {
        return config(client, stall, LONG);
    }

    private S3Config config(S3ClientLibrary client, Duration stall, Duration request) {
        return S3Config.builder("bucket")
                .endpoint(server.endpoint())
                .client(client)
                .credentials("key", "secret")
                .requestTimeout(request)
                .loadDeadline(request.multipliedBy(2))
                .stallTimeout(stall)
                .build();
    }

    private static void assertLate(StoreFailure failure) {
        assertEquals(StoreFailure.Kind.TIMEOUT, failure.kind(), failure::toString);
        assertTrue(
                failure.message().contains("within the time limits")
                        || failure.message().contains("timeout configuration: 100 millis"),
                failure::toString);
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("a server that accepts and is silent, or falls silent after a head: each"
            + " request ends at the stall limit, and reports it")
    void silent(S3ClientLibrary client) {
        try (ObjectStore store = ObjectStoreFactory.open(config(client, SHORT))) {
            for (RawHttpServer.Reply reply : List.of(
                    server.silence(),
                    server.thenSilence(FOUND),
                    server.thenSilence("HTTP/1.1 200 OK\r\nETag: "))) {
                server.reply(reply);
                assertLate(assertThat(store.get("key", 2_000_000)).isUnavailable());
                assertLate(
                        assertThat(store.range("key", 0, 1000, new byte[1000])).isUnavailable());
            }
            server.reply(server.silence());
            assertLate(assertThat(store.head("key")).isUnavailable());
            assertLate(assertThat(store.putIfAbsent("key", new byte[100])).isUnknown());
            assertLate(assertThat(store.delete("key")).isUnknown());
            assertLate(assertThat(store.list("", _ -> {})).isUnavailable());
            server.reply(server.thenSilence("HTTP/1.1 200 OK\r\n"
                    + "Content-Type: application/xml\r\n"
                    + "Content-Length: 1000\r\n\r\n"
                    + "<?xml version=\"1.0\"?>"));
            assertLate(assertThat(store.list("", _ -> {})).isUnavailable());
            server.reply(server.thenSilence("HTTP/1.1 500 No\r\n"
                    + "Content-Type: application/xml\r\n"
                    + "Content-Length: 1000\r\n\r\n"
                    + "<Error>"));
            assertThat(store.head("key")).isUnavailable();
            assertThat(store.putIfAbsent("key", new byte[100])).isUnknown();
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("a server that drips single bytes, or does not read a body: each request ends at"
            + " its deadline")
    void deadline(S3ClientLibrary client) {
        try (ObjectStore store = ObjectStoreFactory.open(config(client, LONG, SHORT))) {
            for (RawHttpServer.Reply reply : List.of(
                    server.dripping(FOUND, 30), server.dripping("HTTP/1.1 200 OK\r\nETag: ", 30))) {
                server.reply(reply);
                assertLate(assertThat(store.get("key", 2_000_000)).isUnavailable());
                assertLate(
                        assertThat(store.range("key", 0, 1000, new byte[1000])).isUnavailable());
                assertLate(assertThat(store.list("", _ -> {})).isUnavailable());
                store.putIfAbsent("key", new byte[100]); // a head is enough
                assertFalse(Thread.interrupted());
            }
            server.ignoreBodies();
            StoreFailure failure =
                    assertThat(store.putIfAbsent("key", new byte[4 << 20])).isUnknown();
            assertEquals(StoreFailure.Kind.TIMEOUT, failure.kind(), failure::toString);
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("a body that is not read to its end is not read when it is closed either: an"
            + " object, a listing and the answer to a write, each of 5 GiB")
    void unreadRest(S3ClientLibrary client) {
        TrafficCounter traffic = new TrafficCounter();
        server.reply(RawHttpServer.flood(5L << 30));
        try (ObjectStore store = ObjectStoreFactory.open(config(client, LONG), traffic)) {
            assertThat(store.get("key", 10)).isTooLarge();
            assertThat(store.range("key", 0, 10)).isTooLarge();
            assertThat(store.list("", _ -> {})).isUnavailable();
            assertThat(store.put("key", new byte[1])).isDone();
        }
        assertTrue(traffic.received() < 16 << 20, () -> traffic.received() + " bytes");
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("a slow server that sends is not aborted, far beyond the stall limit, and its"
            + " bytes are counted while they arrive")
    void slow(S3ClientLibrary client) {
        int pieces = 20;
        TrafficCounter traffic = new TrafficCounter();
        List<Long> counted = new ArrayList<>();
        server.reply(out -> {
            out.write(("HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: " + pieces * 2048
                            + "\r\n\r\n")
                    .getBytes(ISO_8859_1));
            for (int i = 0; i < pieces; i++) {
                counted.add(traffic.received());
                out.write(new byte[2048]);
                out.flush();
                Thread.sleep(150); // one and a half times the limit in total
            }
        });
        try (ObjectStore store =
                ObjectStoreFactory.open(config(client, Duration.ofSeconds(2)), traffic)) {
            assertEquals(
                    pieces * 2048L,
                    assertThat(store.get("key", 2_000_000)).isFound().bytes().byteSize());
        }
        assertEquals(pieces * 2048L, traffic.received());
        assertTrue(counted.stream().distinct().count() > 2, counted::toString);
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("the time of a PUT grows with its body: a server that takes longer than the"
            + " request timeout gets a large entry, and no small one")
    void largeBody(S3ClientLibrary client) {
        server.reply(out -> {
            out.write("HTTP/1.1 200 OK\r\nETag: \"e\"\r\n".getBytes(ISO_8859_1));
            for (int i = 0; i < 20; i++) { // twice the request timeout in total
                Thread.sleep(100);
                out.write(("X-Piece: " + i + "\r\n").getBytes(ISO_8859_1));
                out.flush();
            }
            out.write("Content-Length: 0\r\n\r\n".getBytes(ISO_8859_1));
            out.flush();
        });
        ConnectionSettings connection = new ConnectionSettings(
                "bucket",
                Optional.of(server.endpoint()),
                Optional.empty(),
                Optional.of(() ->
                        new ConnectionSettings.Credentials("key", "secret", Optional.empty())),
                Map.of(),
                4,
                LONG,
                Duration.ofSeconds(1),
                LONG);
        TrafficCounter traffic = new TrafficCounter();
        try (ObjectStore store =
                switch (client) {
                    case AWS -> AwsTransport.open(connection, traffic);
                    case MINIO -> MinioTransport.open(connection, traffic);
                }) {
            assertThat(store.putIfAbsent("key", new byte[100])).isUnknown();
            assertThat(store.putIfAbsent("key", new byte[40 << 20])).isDone();
        }
        assertEquals(Duration.ofSeconds(101), connection.putTimeout(100L << 20));
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("a bucket is quiet while a request waits for it, and never without one")
    void quiet(S3ClientLibrary client) throws Exception {
        S3Config config = config(client, LONG);
        CountDownLatch received = new CountDownLatch(1);
        CountDownLatch reply = new CountDownLatch(1);
        server.reply(out -> {
            received.countDown();
            reply.await();
            RawHttpServer.response("200 OK", "ETag: \"e\"\r\n", "12345").reply(out);
        });
        try (ResilientObjectStore store = new ResilientObjectStore(
                        traffic -> ObjectStoreFactory.open(config, traffic),
                        config,
                        Ticker.SYSTEM);
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            TrafficCounter traffic = store.traffic();
            assertEquals(Duration.ZERO, traffic.quiet());
            Future<GetResult> result = threads.submit(() -> store.get("key", 10));
            received.await();
            Await.holds(() -> traffic.quiet().toMillis() >= 50);
            reply.countDown();
            assertThat(result.get()).isFound();
            assertEquals(6, traffic.received(), "the body, and one for the response");
            assertEquals(Duration.ZERO, traffic.quiet());
            server.close();
            assertThat(store.get("key", 10)).isUnavailable();
            assertEquals(Duration.ZERO, traffic.quiet());
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("a silent bucket: one lookup detects it, and later ones fail at once with the"
            + " cause")
    void silentBucket(S3ClientLibrary client) {
        server.reply(server.silence());
        try (BucketTier tier = BucketTier.open(config(client, SHORT))) {
            String first = assertThat(tier.load(entries.id())).isUnavailable();
            assertTrue(first.contains("within the time limits"), first);
            int sent = server.requests();
            for (int i = 0; i < 100; i++) {
                String cause = assertThat(tier.load(entries.id())).isUnavailable();
                assertTrue(
                        cause.contains("no requests are sent for 30 s, after: ")
                                && cause.contains("within the time limits"),
                        cause);
            }
            assertThat(tier.store(entries.entry(100))).isFailed();
            IOException unlisted = assertThrows(IOException.class, () -> tier.list(_ -> {}));
            assertTrue(unlisted.toString().contains("within the time limits"), unlisted::toString);
            assertEquals(sent, server.requests());
            assertEquals(BucketTierStatistics.Breaker.OPEN, tier.statistics().breaker());
        }
    }
}
