package dev.granary.s3.contract;

import static dev.granary.testing.BucketAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.s3.ObjectStoreFactory;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.Fault.Change;
import dev.granary.s3.contract.Fault.Moment;
import dev.granary.s3.embedded.ConditionMode;
import dev.granary.s3.embedded.EmbeddedS3;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;
import dev.granary.testing.Race;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Tests that the faulty S3 injects exactly the planned faults, on the planned side of the commit.
 */
class FaultyS3Test {
    private static final Duration SHORT = Duration.ofMillis(300);
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final byte[] BODY = "the body".getBytes(UTF_8);
    private static final EmbeddedS3 SERVER = start();

    private final FaultyS3 faulty;

    FaultyS3Test() throws IOException {
        faulty = FaultyS3.inFrontOf(SERVER);
    }

    private static EmbeddedS3 start() {
        try {
            EmbeddedS3 server = EmbeddedS3.start(null);
            server.createBucket("kernels");
            return server;
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    @AfterAll
    static void stop() {
        SERVER.close();
    }

    @AfterEach
    void close() {
        faulty.close();
    }

    private ObjectStore open(S3ClientLibrary client, Duration timeout) {
        return ObjectStoreFactory.open(S3Config.builder("kernels")
                .endpoint(faulty.endpoint())
                .client(client)
                .credentials(SERVER.accessKey(), SERVER.secretKey())
                .requestTimeout(timeout)
                .loadDeadline(LONG)
                .build());
    }

    private static String key(S3ClientLibrary client, String name) {
        return "faulty/" + client + "/" + name;
    }

    private WriteResult create(ObjectStore store, String key, Fault fault) {
        faulty.plan(FaultPlan.script(fault));
        return store.putIfAbsent(key, BODY);
    }

    private GetResult get(ObjectStore store, String key, Fault fault) {
        faulty.plan(FaultPlan.script(fault));
        return store.get(key, 1000);
    }

    private boolean isThere(ObjectStore store, String key) throws InterruptedException {
        assertTrue(faulty.awaitIdle(LONG));
        return get(store, key, new Fault.None()) instanceof GetResult.Found;
    }

    private static StoreFailure failure(GetResult result) {
        return assertThat(result).isUnavailable();
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName(
            "without faults everything passes, including signatures and large bodies, and the log"
                    + " is complete")
    void sound(S3ClientLibrary client) {
        byte[] large = new byte[3 << 20];
        new SplittableRandom(1).nextBytes(large);
        String key = key(client, "sound");
        try (ObjectStore store = open(client, LONG)) {
            String etag = assertThat(store.putIfAbsent(key, large)).isDone();
            assertEquals(
                    List.of(large.length, 10L, etag),
                    List.of(
                            (int) assertThat(store.get(key, 4 << 20))
                                    .isFound()
                                    .bytes()
                                    .byteSize(),
                            assertThat(store.range(key, 5, 10))
                                    .isFound()
                                    .bytes()
                                    .byteSize(),
                            assertThat(store.head(key)).isFound().etag()));
            List<String> listed = new ArrayList<>();
            store.list(key, object -> listed.add(object.key()));
            assertEquals(List.of(key), listed);
            assertThat(store.replaceIfMatch(key, etag, BODY)).isDone();
            assertThat(store.delete(key)).isDone();
        }
        assertEquals(
                List.of(
                        "PUT none-match",
                        "GET",
                        "GET range",
                        "HEAD",
                        "LIST",
                        "PUT match",
                        "DELETE"),
                faulty.exchanges().stream()
                        .map(exchange -> exchange.request().operation())
                        .toList());
        assertTrue(faulty.exchanges().stream()
                .allMatch(exchange -> exchange.request().key().equals(key)));
        assertEquals(
                List.of(200, 200, 206, 200, 200, 200, 204),
                faulty.exchanges().stream().map(FaultyS3.Exchange::serverStatus).toList());
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName(
            "each failure is reported as its kind, before the commit without it, after the commit"
                    + " with it")
    void failures(S3ClientLibrary client) throws Exception {
        try (ObjectStore store = open(client, LONG)) {
            for (StoreFailure failure : List.of(
                    Fault.RESET,
                    Fault.ERROR_500,
                    Fault.SLOW_DOWN,
                    Fault.DENIED,
                    Fault.EXPIRED,
                    Fault.EXPIRED_403)) {
                String key = key(client, failure.status() + failure.code());
                int before = faulty.requests();
                assertEquals(
                        WriteResult.failed(failure).getClass(),
                        create(store, key, new Fault.Lost(failure)).getClass());
                assertEquals(before + 1, faulty.requests(), () -> "one request for " + failure);
                assertEquals(false, isThere(store, key));
                assertEquals(
                        WriteResult.failed(failure).getClass(),
                        create(store, key, new Fault.AnswerLost(failure)).getClass());
                assertEquals(true, isThere(store, key));
                before = faulty.requests();
                assertEquals(
                        failure.kind(),
                        failure(get(store, key, new Fault.Lost(failure))).kind());
                assertEquals(
                        failure.kind(),
                        failure(get(store, key, new Fault.AnswerLost(failure))).kind());
                assertEquals(before + 2, faulty.requests(), () -> "one request for " + failure);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("silence lasts until the client's deadline; a late request is processed after it")
    void silence(S3ClientLibrary client) throws Exception {
        try (ObjectStore store = open(client, SHORT);
                ObjectStore patient = open(client, LONG)) {
            String key = key(client, "silence");
            assertThat(create(store, key, new Fault.Lost(Fault.TIMEOUT))).isUnknown();
            assertEquals(false, isThere(patient, key));
            assertThat(create(store, key, new Fault.AnswerLost(Fault.TIMEOUT))).isUnknown();
            assertEquals(true, isThere(patient, key));
            StoreFailure silent = failure(get(store, key, new Fault.Lost(Fault.TIMEOUT)));
            assertEquals(StoreFailure.Kind.TIMEOUT, silent.kind(), silent::toString);
            String late = key(client, "late");
            assertThat(create(store, late, new Fault.Late())).isUnknown();
            assertEquals(true, isThere(patient, late));
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("false responses: 409, 412, an empty 200 and a page, before and after the commit")
    void falseAnswers(S3ClientLibrary client) throws Exception {
        try (ObjectStore store = open(client, LONG)) {
            for (Moment moment : Moment.values()) {
                boolean isDone = moment == Moment.AFTER;
                assertThat(create(
                                store, key(client, "409" + moment), new Fault.Conflicting(moment)))
                        .isConflict();
                assertEquals(isDone, isThere(store, key(client, "409" + moment)));
                assertThat(create(
                                store,
                                key(client, "412" + moment),
                                new Fault.PreconditionFailed(moment)))
                        .isPreconditionFailed();
                assertEquals(isDone, isThere(store, key(client, "412" + moment)));
                assertThat(create(store, key(client, "blank" + moment), new Fault.Blank(moment)))
                        .isUnknown();
                assertEquals(isDone, isThere(store, key(client, "blank" + moment)));
                assertThat(create(store, key(client, "page" + moment), new Fault.Page(moment)))
                        .isUnknown();
                assertEquals(isDone, isThere(store, key(client, "page" + moment)));
                assertThat(create(
                                store,
                                key(client, "slow" + moment),
                                new Fault.Delayed(moment, SHORT)))
                        .isDone();
            }
            String there = key(client, "409AFTER");
            assertEquals(
                    0,
                    assertThat(get(store, there, new Fault.Blank(Moment.AFTER)))
                            .isFound()
                            .bytes()
                            .byteSize());
            assertTrue(text(get(store, there, new Fault.Page(Moment.BEFORE))).startsWith("<html>"));
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("changed responses: truncated, too long, another version, the body of another key")
    void changes(S3ClientLibrary client) {
        String key = key(client, "changed");
        try (ObjectStore store = open(client, LONG)) {
            store.putIfAbsent(key(client, "other"), "the other".getBytes(UTF_8));
            assertThat(store.get(key(client, "other"), 100)).isFound();
            String etag = assertThat(create(store, key, new Fault.None())).isDone();
            assertEquals(
                    StoreFailure.Kind.BROKEN,
                    failure(get(store, key, new Fault.Changed(Change.TRUNCATED)))
                            .kind());
            assertEquals("t", text(get(store, key, new Fault.Changed(Change.SURPLUS))));
            GetResult afterwards = store.get(key, 100); // the rest may be taken for its head
            assertTrue(
                    afterwards instanceof GetResult.Unavailable
                            || text(afterwards).equals("the body"),
                    afterwards::toString);
            assertEquals(
                    "the bodySURPLUS", text(get(store, key, new Fault.Changed(Change.LONGER))));
            assertTrue(!assertThat(get(store, key, new Fault.Changed(Change.WRONG_ETAG)))
                    .isFound()
                    .etag()
                    .equals(etag));
            assertEquals("the other", text(get(store, key, new Fault.Changed(Change.OTHER_BODY))));
            assertThat(create(store, key(client, "new"), new Fault.Changed(Change.TRUNCATED)))
                    .isUnknown();
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("conditions of one write, or of all, are ignored or racy if the server is"
            + " configured so, else honoured")
    void conditions(S3ClientLibrary client) throws Exception {
        String key = key(client, "conditions");
        try (ObjectStore store = open(client, LONG)) {
            create(store, key, new Fault.None());
            assertThat(create(store, key, new Fault.Conditioned(ConditionMode.IGNORED)))
                    .isDone();
            assertThat(create(store, key, new Fault.None())).isPreconditionFailed();
            assertThat(create(store, key, new Fault.Conditioned(ConditionMode.RACY)))
                    .isPreconditionFailed();
            faulty.plan(FaultPlan.script(new Fault.Conditioned(ConditionMode.IGNORED)));
            assertThat(store.replaceIfMatch(key, "0".repeat(32), BODY)).isDone();
            assertThat(store.replaceIfMatch(key, "0".repeat(32), BODY)).isPreconditionFailed();
            SERVER.conditions(ConditionMode.RACY);
            long most = 0;
            for (int i = 0; i < 20 && most < 2; i++) {
                String raced = key + i;
                most = Math.max(
                        most,
                        Race.run(8, _ -> store.putIfAbsent(raced, BODY)).stream()
                                .filter(WriteResult.Done.class::isInstance)
                                .count());
            }
            assertTrue(most > 1, "a racy server never had two winners");
        } finally {
            SERVER.conditions(ConditionMode.KEPT);
        }
    }

    @Test
    @DisplayName("an unsupported fault is reported")
    void misuse() throws Exception {
        FaultyS3 anyServer = FaultyS3.inFrontOf(SERVER.endpoint());
        anyServer.plan(FaultPlan.always(new Fault.Conditioned(ConditionMode.IGNORED)));
        try (ObjectStore store = ObjectStoreFactory.open(S3Config.builder("kernels")
                .endpoint(anyServer.endpoint())
                .credentials(SERVER.accessKey(), SERVER.secretKey())
                .build())) {
            assertThat(store.putIfAbsent("misuse", BODY)).isUnknown();
        }
        assertThrows(IllegalArgumentException.class, anyServer::close);
    }

    @Test
    @DisplayName("an invalid listing is not an empty one")
    void listings() {
        for (S3ClientLibrary client : S3ClientLibrary.values()) {
            try (ObjectStore store = open(client, LONG)) {
                create(store, key(client, "listed"), new Fault.None());
                for (Fault fault : List.of(
                        new Fault.Blank(Moment.BEFORE),
                        new Fault.Page(Moment.BEFORE),
                        new Fault.Changed(Change.TRUNCATED),
                        new Fault.Lost(Fault.DENIED))) {
                    faulty.plan(FaultPlan.script(fault));
                    assertThat(store.list("", _ -> {})).as(client + " " + fault).isUnavailable();
                }
            }
        }
    }

    private static String text(GetResult result) {
        return new String(
                assertThat(result).isFound().bytes().toArray(ValueLayout.JAVA_BYTE), UTF_8);
    }
}
