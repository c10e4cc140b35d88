package dev.granary.s3;

import static dev.granary.testing.BucketAssertions.assertThat;
import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.config.S3ConfigBuilder;
import dev.granary.s3.statistics.BucketTierStatistics;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.StoreFailure.Kind;
import dev.granary.s3.store.WriteResult;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.IntSupplier;

/** Tests of both transports against a server that misbehaves on the wire. */
@Execution(ExecutionMode.CONCURRENT) // its tests mostly wait
class MalformedResponseTest {
    private static final long LIMIT = 1 << 20;

    private final TestEntries entries = new TestEntries(MalformedResponseTest.class.getName());
    private final ScriptedHttpServer server;

    MalformedResponseTest() throws IOException {
        server = new ScriptedHttpServer();
    }

    @AfterEach
    void close() {
        server.close();
    }

    private S3ConfigBuilder config(S3ClientLibrary client, URI endpoint) {
        return S3Config.builder("bucket")
                .endpoint(endpoint)
                .client(client)
                .credentials("key", "secret")
                .requestTimeout(Duration.ofMillis(400))
                .loadDeadline(Duration.ofMillis(500));
    }

    // a long timeout: these responses arrive at once, however slow the machine is
    private ObjectStore transport(S3ClientLibrary client) {
        return ObjectStoreFactory.open(config(client, server.endpoint())
                .loadDeadline(Duration.ofMinutes(1))
                .requestTimeout(Duration.ofMinutes(1))
                .build());
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("each status of a write has its meaning, and takes one request")
    void writes(S3ClientLibrary client) {
        Map<ScriptedHttpServer.Answer, Class<? extends WriteResult>> meanings = Map.ofEntries(
                Map.entry(
                        ScriptedHttpServer.error(412, "PreconditionFailed"),
                        WriteResult.PreconditionFailed.class),
                Map.entry(
                        ScriptedHttpServer.error(409, "ConditionalRequestConflict"),
                        WriteResult.Conflict.class),
                Map.entry(
                        ScriptedHttpServer.error(404, "NoSuchKey"),
                        WriteResult.PreconditionFailed.class),
                Map.entry(
                        ScriptedHttpServer.error(404, "NoSuchBucket"),
                        WriteResult.NotAllowed.class),
                Map.entry(
                        ScriptedHttpServer.error(400, "InvalidArgument"),
                        WriteResult.NotAllowed.class),
                Map.entry(
                        ScriptedHttpServer.error(403, "AccessDenied"),
                        WriteResult.NotAllowed.class),
                Map.entry(
                        ScriptedHttpServer.error(501, "NotImplemented"),
                        WriteResult.NotAllowed.class),
                Map.entry(
                        ScriptedHttpServer.error(500, "InternalError"), WriteResult.Unknown.class),
                Map.entry(ScriptedHttpServer.error(503, "SlowDown"), WriteResult.Unknown.class),
                Map.entry(
                        ScriptedHttpServer.body(502, "text/html", "<html>Bad gateway</html>"),
                        WriteResult.Unknown.class),
                Map.entry(
                        ScriptedHttpServer.body(403, "text/html", "<html>Go away</html>"),
                        WriteResult.NotAllowed.class),
                Map.entry(ScriptedHttpServer.disconnect(), WriteResult.Unknown.class));
        try (ObjectStore store = transport(client)) {
            meanings.forEach((answer, meaning) -> {
                server.answer(answer);
                assertThat(store.putIfAbsent("key", new byte[10])).is(meaning);
                assertEquals(1, server.requests(), meaning::toString);
                assertInstanceOf(meaning, store.replaceIfMatch("key", "etag", new byte[10]));
                assertThat(store.deleteIfMatch("key", "etag")).is(meaning);
                assertEquals(3, server.requests(), meaning::toString);
            });
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("each status of a read has its meaning, and takes one request")
    void reads(S3ClientLibrary client) {
        Map<ScriptedHttpServer.Answer, Kind> meanings = Map.ofEntries(
                Map.entry(ScriptedHttpServer.error(404, "NoSuchBucket"), Kind.NO_BUCKET),
                Map.entry(ScriptedHttpServer.error(403, "AccessDenied"), Kind.DENIED),
                Map.entry(ScriptedHttpServer.error(403, "RequestTimeTooSkewed"), Kind.CLOCK_SKEW),
                Map.entry(ScriptedHttpServer.error(400, "ExpiredToken"), Kind.DENIED),
                Map.entry(
                        ScriptedHttpServer.error(400, "AuthorizationHeaderMalformed"),
                        Kind.WRONG_REGION),
                Map.entry(ScriptedHttpServer.error(301, "PermanentRedirect"), Kind.WRONG_REGION),
                Map.entry(ScriptedHttpServer.error(501, "NotImplemented"), Kind.NOT_SUPPORTED),
                Map.entry(ScriptedHttpServer.error(500, "InternalError"), Kind.SERVER),
                Map.entry(ScriptedHttpServer.error(503, "SlowDown"), Kind.THROTTLED),
                Map.entry(
                        ScriptedHttpServer.body(502, "text/html", "<html>Bad gateway</html>"),
                        Kind.SERVER),
                Map.entry(ScriptedHttpServer.truncated(entries.bytes(1000)), Kind.BROKEN),
                Map.entry(ScriptedHttpServer.disconnect(), Kind.BROKEN));
        try (ObjectStore store = transport(client)) {
            meanings.forEach((answer, kind) -> {
                server.answer(answer);
                StoreFailure failure =
                        assertThat(store.get("key", LIMIT)).as(kind.toString()).isUnavailable();
                assertEquals(kind, failure.kind(), failure::toString);
                assertEquals(1, server.requests(), kind::toString);
            });
            server.answer(ScriptedHttpServer.error(404, "NoSuchKey"));
            assertThat(store.get("key", LIMIT)).isAbsent();
            assertThat(store.head("key")).isAbsent();
            server.answer(ScriptedHttpServer.error(500, "InternalError"));
            assertThat(store.head("key")).isUnavailable();
            assertThat(store.list("", object -> {})).isUnavailable();
            assertEquals(2, server.requests());
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("a write without a condition: no status means a failed precondition")
    void plainWrites(S3ClientLibrary client) {
        Map<ScriptedHttpServer.Answer, Class<? extends WriteResult>> meanings = Map.of(
                ScriptedHttpServer.error(412, "PreconditionFailed"), WriteResult.NotAllowed.class,
                ScriptedHttpServer.error(409, "OperationAborted"), WriteResult.Conflict.class,
                ScriptedHttpServer.error(404, "NoSuchBucket"), WriteResult.NotAllowed.class,
                ScriptedHttpServer.body(404, "text/html", "<html>Not found</html>"),
                        WriteResult.NotAllowed.class,
                ScriptedHttpServer.error(403, "AccessDenied"), WriteResult.NotAllowed.class,
                ScriptedHttpServer.error(501, "NotImplemented"), WriteResult.NotAllowed.class,
                ScriptedHttpServer.error(500, "InternalError"), WriteResult.Unknown.class,
                ScriptedHttpServer.page(), WriteResult.Unknown.class);
        try (ObjectStore store = transport(client)) {
            meanings.forEach((answer, meaning) -> {
                server.answer(answer);
                assertThat(store.put("key", new byte[10])).is(meaning);
                assertEquals(1, server.requests(), meaning::toString);
            });
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName(
            "one retry layer: neither client retries after 500, 503, 503 with Retry-After, or a"
                    + " broken connection")
    void noRetriesBelow(S3ClientLibrary client) throws IOException {
        try (ObjectStore store = transport(client)) {
            for (ScriptedHttpServer.Answer answer : List.of(
                    ScriptedHttpServer.error(500, "InternalError"),
                    ScriptedHttpServer.error(503, "SlowDown"),
                    ScriptedHttpServer.slowDown(),
                    ScriptedHttpServer.body(503, "text/html", "<html>Busy</html>"),
                    ScriptedHttpServer.error(408, "RequestTimeout"),
                    ScriptedHttpServer.error(400, "RequestTimeout"),
                    ScriptedHttpServer.error(429, "TooManyRequests"),
                    ScriptedHttpServer.disconnect())) {
                server.answer(answer);
                assertEachIsOneRequest(store, server::requests);
            }
        }
        for (ResettingServer.At at : ResettingServer.At.values()) {
            try (ResettingServer resetting = new ResettingServer(at);
                    ObjectStore store = ObjectStoreFactory.open(config(client, resetting.endpoint())
                            .loadDeadline(Duration.ofMinutes(1))
                            .requestTimeout(Duration.ofMinutes(1))
                            .build())) {
                assertEachIsOneRequest(store, resetting::requests);
            }
        }
    }

    private static void assertEachIsOneRequest(ObjectStore store, IntSupplier sent) {
        int before = sent.getAsInt();
        store.get("key", LIMIT);
        assertEquals(1, sent.getAsInt() - before, "GET");
        store.head("key");
        assertEquals(2, sent.getAsInt() - before, "HEAD");
        store.put("key", new byte[10]);
        assertEquals(3, sent.getAsInt() - before, "PUT");
        store.putIfAbsent("key", new byte[10]);
        assertEquals(4, sent.getAsInt() - before, "PUT If-None-Match");
        store.replaceIfMatch("key", "etag", new byte[10]);
        assertEquals(5, sent.getAsInt() - before, "PUT If-Match");
        store.delete("key");
        assertEquals(6, sent.getAsInt() - before, "DELETE");
        store.list("", object -> {});
        assertEquals(7, sent.getAsInt() - before, "LIST");
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("a declared length of gigabytes allocates no memory")
    void hugeDeclaredLength(S3ClientLibrary client) {
        try (ObjectStore store = transport(client)) {
            server.answer(ScriptedHttpServer.hugeDeclaredLength(1L << 40));
            assertThat(store.get("key", 1L << 50)).isUnavailable();
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName(
            "an HTML page with status 200 and an empty response are damaged entries, neither hits"
                    + " nor absent; nothing is stored there")
    void foreignSuccess(S3ClientLibrary client) {
        try (BucketTier tier = BucketTier.open(config(client, server.endpoint())
                .refreshInterval(Duration.ZERO)
                .loadDeadline(Duration.ofMinutes(1))
                .requestTimeout(Duration.ofMinutes(1))
                .build())) {
            server.answer(ScriptedHttpServer.page());
            assertThat(tier.load(entries.id())).isDamaged(DamageKind.FOREIGN);
            server.answer(ScriptedHttpServer.body(200, "application/octet-stream", ""));
            assertThat(tier.load(entries.id())).isDamaged(DamageKind.TRUNCATED);
            server.answer(ScriptedHttpServer.page());
            assertThat(tier.store(entries.entry(1))).isUnknown();
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("a silent bucket: each lookup ends, then none is sent; a store ends, too")
    void silence(S3ClientLibrary client) {
        server.answer(server.silence());
        try (BucketTier tier = BucketTier.open(config(client, server.endpoint()).build())) {
            for (int i = 0;
                    tier.statistics().breaker() == BucketTierStatistics.Breaker.CLOSED;
                    i++) {
                assertTrue(i < 20, "the breaker never opens");
                String cause = assertThat(tier.load(entries.id())).isUnavailable();
                assertTrue(cause.length() > 10, cause);
            }
            long before = tier.statistics().requests().get();
            assertThat(tier.load(entries.id())).isUnavailable();
            assertEquals(before, tier.statistics().requests().get());
            assertThat(tier.store(entries.entry(1))).isFailed();
        }
        try (BucketTier fresh =
                BucketTier.open(config(client, server.endpoint()).build())) {
            // nothing is requested before the write, which was sent
            assertThat(fresh.store(entries.entry(1))).isUnknown();
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("no server: unreachable, for every request")
    void unreachable(S3ClientLibrary client) {
        URI gone = server.endpoint();
        server.close();
        try (ObjectStore store = ObjectStoreFactory.open(config(client, gone)
                .requestTimeout(Duration.ofSeconds(30))
                .loadDeadline(Duration.ofSeconds(30))
                .build())) {
            assertEquals(
                    Kind.UNREACHABLE,
                    assertThat(store.get("key", 1)).isUnavailable().kind());
            assertEquals(
                    Kind.UNREACHABLE,
                    assertThat(store.putIfAbsent("key", new byte[1]))
                            .isUnknown()
                            .kind());
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("no secret in messages of failures or settings")
    void secrets(S3ClientLibrary client) {
        String secret = "a-very-secret-key";
        S3Config config =
                config(client, server.endpoint()).credentials("key", secret).build();
        assertTrue(!config.toString().contains(secret)
                && !config.connection().toString().contains(secret));
        server.answer(ScriptedHttpServer.error(403, "SignatureDoesNotMatch"));
        try (BucketTier tier = BucketTier.open(config)) {
            Entry entry = entries.entry(1);
            assertTrue(!tier.load(entry.id()).toString().contains(secret));
            assertTrue(!tier.store(entry).toString().contains(secret));
            assertTrue(!tier.check().toString().contains(secret));
        }
    }
}
