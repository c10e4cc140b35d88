package dev.granary.s3;

import static dev.granary.testing.BucketAssertions.assertThat;
import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.support.Ticker;
import dev.granary.s3.aws.AwsTransport;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.minio.MinioTransport;
import dev.granary.s3.resilience.RequestCounters;
import dev.granary.s3.resilience.ResilientObjectStore;
import dev.granary.s3.statistics.BucketTierStatistics;
import dev.granary.s3.store.ConnectionSettings;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.TrafficCounter;
import dev.granary.s3.store.WriteResult;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Tests of both transports and their layers against servers without progress. Total timeouts are
 * minutes here: a test that waits for one fails.
 */
class StallTest {
    private static final Duration STALL = Duration.ofMillis(100);
    private static final Duration TOTAL = Duration.ofMinutes(10);
    private static final String FOUND =
            "HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: 1000000\r\n\r\n";

    private final TestEntries entries = new TestEntries(StallTest.class.getName());
    private final RawHttpServer server = new RawHttpServer();

    StallTest() throws IOException {}

    @AfterEach
    void close() throws IOException {
        server.close();
    }

    private S3Config config(S3ClientLibrary client) {
        return config(client, STALL);
    }

    private S3Config config(S3ClientLibrary client, Duration stall) {
        return S3Config.builder("bucket")
                .endpoint(server.endpoint())
                .client(client)
                .credentials("key", "secret")
                .requestTimeout(TOTAL)
                .loadDeadline(TOTAL.multipliedBy(2))
                .stallTimeout(stall)
                .slowCall(TOTAL)
                .build();
    }

    private static void assertStalled(StoreFailure failure) {
        assertEquals(StoreFailure.Kind.TIMEOUT, failure.kind(), failure::toString);
        // OkHttp itself reports a call that was cancelled between head and body
        assertTrue(
                failure.message().contains("moved for 100 ms")
                        || failure.message().contains("within the time limits"),
                failure::toString);
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName(
            "S5 A9 a server that accepts and is silent, falls silent after a head, or drips: each"
                    + " request ends at the stall limit, and reports it")
    void stalls(S3ClientLibrary client) {
        try (ObjectStore store = ObjectStoreFactory.open(config(client))) {
            for (RawHttpServer.Reply reply : List.of(
                    server.silence(),
                    server.thenSilence(FOUND),
                    server.dripping(FOUND, 30),
                    server.dripping("HTTP/1.1 200 OK\r\nETag: ", 30))) {
                server.reply(reply);
                assertStalled(assertThat(store.get("key", 2_000_000)).isUnavailable());
                assertStalled(
                        assertThat(store.range("key", 0, 1000, new byte[1000])).isUnavailable());
            }
            server.reply(server.silence());
            assertStalled(assertThat(store.head("key")).isUnavailable());
            assertStalled(assertThat(store.putIfAbsent("key", new byte[100], ObjectMarks.NONE))
                    .isUnknown());
            assertStalled(assertThat(store.delete("key")).isUnknown());
            assertStalled(assertThat(store.list("", _ -> {})).isUnavailable());
            server.reply(server.thenSilence("HTTP/1.1 200 OK\r\n"
                    + "Content-Type: application/xml\r\n"
                    + "Content-Length: 1000\r\n\r\n"
                    + "<?xml version=\"1.0\"?>"));
            assertStalled(assertThat(store.list("", _ -> {})).isUnavailable());
            server.reply(server.thenSilence("HTTP/1.1 500 No\r\n"
                    + "Content-Type: application/xml\r\n"
                    + "Content-Length: 1000\r\n\r\n"
                    + "<Error>"));
            assertThat(store.head("key")).isUnavailable();
            assertThat(store.putIfAbsent("key", new byte[100], ObjectMarks.NONE))
                    .isUnknown();
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName(
            "S5 A9 a server that does not read a body of 16 MiB: the write ends at the stall limit")
    void unread(S3ClientLibrary client) {
        server.ignoreBodies();
        try (ObjectStore store = ObjectStoreFactory.open(config(client))) {
            assertStalled(assertThat(store.putIfAbsent("key", new byte[16 << 20], ObjectMarks.NONE))
                    .isUnknown());
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName(
            "S5 a slow server with progress is not aborted, far beyond the stall limit, and its"
                    + " bytes are counted")
    void slow(S3ClientLibrary client) {
        int pieces = 20;
        TrafficCounter traffic = new TrafficCounter();
        server.reply(out -> {
            out.write(("HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: " + pieces * 2048
                            + "\r\n\r\n")
                    .getBytes(ISO_8859_1));
            for (int i = 0; i < pieces; i++) {
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
        assertEquals(pieces * 2048L, traffic.receivedBytes());
        assertEquals(Duration.ZERO, traffic.quiet());
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName(
            "S5 sent bytes are progress like received ones, and none of them counts as received")
    void sent(S3ClientLibrary client) {
        TrafficCounter traffic = new TrafficCounter();
        server.reply(RawHttpServer.response("200 OK", "ETag: \"e\"\r\n", ""));
        try (ObjectStore store = ObjectStoreFactory.open(config(client, TOTAL), traffic)) {
            assertThat(store.putIfAbsent("key", new byte[100], ObjectMarks.NONE))
                    .isDone();
            assertEquals(0, traffic.progress(), "too few bytes, and a response without any");
            assertThat(store.putIfAbsent("key", new byte[1 << 20], ObjectMarks.NONE))
                    .isDone();
            assertTrue(traffic.progress() > 0);
        }
        assertEquals(0, traffic.receivedBytes());
        assertEquals(Duration.ZERO, traffic.quiet());
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("S5 the time of a PUT grows with its body: a server that takes longer than the"
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
                Optional.of(new ConnectionSettings.Credentials("key", "secret")),
                4,
                TOTAL,
                Duration.ofSeconds(1),
                TOTAL);
        try (ObjectStore store =
                switch (client) {
                    case AWS -> AwsTransport.open(connection);
                    case MINIO -> MinioTransport.open(connection);
                }) {
            assertThat(store.putIfAbsent("key", new byte[100], ObjectMarks.NONE))
                    .isUnknown();
            assertThat(store.putIfAbsent("key", new byte[40 << 20], ObjectMarks.NONE))
                    .isDone();
        }
        assertEquals(Duration.ofSeconds(101), connection.putTimeout(100L << 20));
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("S5 the head of a response is progress like bytes, before any byte of its body")
    void head(S3ClientLibrary client) {
        TrafficCounter traffic = new TrafficCounter();
        server.reply(out -> {
            long start = System.nanoTime();
            out.write("HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: 5\r\n\r\n"
                    .getBytes(ISO_8859_1));
            out.flush();
            long now;
            do { // until the client gives up
                now = System.nanoTime();
            } while (traffic.quiet().toNanos() >= now - start);
            out.write("12345".getBytes(ISO_8859_1));
            out.flush();
        });
        try (ObjectStore store =
                ObjectStoreFactory.open(config(client, Duration.ofSeconds(5)), traffic)) {
            assertThat(store.get("key", 10)).isFound();
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName(
            "S5 no request stays watched, however it ended: with a response, an unread body, cut"
                    + " off before or in its response, not sent")
    void ends(S3ClientLibrary client) throws IOException {
        TrafficCounter traffic = new TrafficCounter();
        try (ObjectStore store = ObjectStoreFactory.open(config(client, TOTAL), traffic)) {
            server.reply(RawHttpServer.response("200 OK", "ETag: \"e\"\r\n", "12345"));
            assertEnded(GetResult.Found.class, store.get("key", 10), traffic);
            assertEnded(GetResult.TooLarge.class, store.get("key", 3), traffic);
            server.reply(RawHttpServer.flood(1 << 30));
            assertEnded(GetResult.TooLarge.class, store.get("key", 10), traffic);
            server.reply(RawHttpServer.response("200 OK", "ETag: \"e\"\r\n", ""));
            assertEnded(HeadResult.Found.class, store.head("key"), traffic);
            assertEnded(
                    WriteResult.Done.class,
                    store.put("key", new byte[100], ObjectMarks.NONE),
                    traffic);
            server.reply(out -> out.write("HTTP/1.1 204 No PayloadKind\r\nConnection: close\r\n\r\n"
                    .getBytes(ISO_8859_1)));
            assertEnded(WriteResult.Done.class, store.delete("key"), traffic);
            server.reply(out -> out.write((FOUND + "12345").getBytes(ISO_8859_1)));
            assertEnded(GetResult.Unavailable.class, store.get("key", 2_000_000), traffic);
            server.reply(_ -> {});
            assertEnded(GetResult.Unavailable.class, store.get("key", 10), traffic);
            server.close();
            assertEnded(GetResult.Unavailable.class, store.get("key", 10), traffic);
        }
    }

    private static void assertEnded(Class<?> expected, Object result, TrafficCounter traffic) {
        assertInstanceOf(expected, result);
        assertEquals(Duration.ZERO, traffic.quiet(), result::toString);
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName(
            "S5 A9 a silent bucket: one lookup detects it, and later ones fail at once with the"
                    + " cause")
    void silentBucket(S3ClientLibrary client) {
        server.reply(server.silence());
        try (BucketTier tier = BucketTier.open(config(client))) {
            String first = assertThat(tier.load(entries.id())).isUnavailable();
            assertTrue(first.contains("100 ms"), first);
            int sent = server.requests();
            for (int i = 0; i < 100; i++) {
                String cause = assertThat(tier.load(entries.id())).isUnavailable();
                assertTrue(
                        cause.contains("no requests are sent for 30 s, after: ")
                                && cause.contains("100 ms"),
                        cause);
            }
            assertThat(tier.store(entries.entry(100))).isFailed();
            IOException unlisted = assertThrows(IOException.class, () -> tier.list(_ -> {}));
            assertTrue(unlisted.toString().contains("100 ms"), unlisted::toString);
            assertEquals(sent, server.requests());
            assertEquals(BucketTierStatistics.Breaker.OPEN, tier.statistics().breaker());
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName(
            "S5 A9 a bucket for packs that falls silent after 100 responses: 100 successive reads"
                    + " send at most four requests")
    void packsFallSilent(S3ClientLibrary client) throws Exception {
        AtomicInteger count = new AtomicInteger();
        RawHttpServer.Reply well = RawHttpServer.response(
                "404 Not Found",
                "Content-Type: application/xml\r\n",
                "<Error><Code>NoSuchKey</Code></Error>");
        server.replyToEach(_ -> count.incrementAndGet() <= 100 ? well : server.silence());
        S3Config config = config(client, Duration.ofMillis(500)).forPacks();
        TrafficCounter traffic = new TrafficCounter();
        try (ResilientObjectStore store = new ResilientObjectStore(
                () -> ObjectStoreFactory.open(config, traffic),
                config,
                Ticker.SYSTEM,
                new RequestCounters(),
                traffic)) {
            for (int i = 0; i < 100; i++) {
                assertThat(store.get("key", 10)).isAbsent();
            }
            for (int i = 0; i < 100; i++) { // successive, as a planner reads indexes
                assertThat(store.get("key", 10)).isUnavailable();
            }
            assertTrue(server.requests() <= 104, () -> server.requests() + " requests");
            assertEquals(BucketTierStatistics.Breaker.OPEN, store.breaker());
        }
    }
}
