package dev.granary.s3;

import static dev.granary.testing.BucketAssertions.assertThat;
import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.support.Ticker;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.config.S3ConfigBuilder;
import dev.granary.s3.resilience.ResilientObjectStore;
import dev.granary.s3.statistics.BucketTierStatistics;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.ServerTimestamps;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Tests of both transports against responses that no S3 server sends. */
class RawResponseTest {
    private static final String XML = "Content-Type: application/xml\r\n";
    private static final String LIST = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
            + "<ListBucketResult><Name>bucket</Name><Prefix></Prefix><MaxKeys>1000</MaxKeys>"
            + "<KeyCount>1</KeyCount><IsTruncated>false</IsTruncated>";
    private static final String ETAG_AND_TIME =
            "<ETag>\"e\"</ETag><LastModified>2026-01-01T00:00:00.000Z</LastModified>";
    private static final List<String> WRONG_DATES = List.of(
            "",
            "Last-Modified: \r\n",
            "Last-Modified: yesterday\r\n",
            "Last-Modified: Xyz, 99 Foo 20xx\r\n",
            "Last-Modified: Sun, 31 Dec +999999999 23:59:59 GMT\r\n",
            "Last-Modified: 2026-01-01T00:00:00Z\r\n");
    private static final String SECRET = "aVerySecretKey/0123456789";

    private final TestEntries entries = new TestEntries(RawResponseTest.class.getName());
    private final RawHttpServer server = new RawHttpServer();

    RawResponseTest() throws IOException {}

    @AfterEach
    void close() throws IOException {
        server.close();
    }

    private S3ConfigBuilder config(S3ClientLibrary client) {
        return S3Config.builder("bucket")
                .endpoint(server.endpoint())
                .client(client)
                .credentials("key", SECRET)
                .stallTimeout(Duration.ofMinutes(1))
                .requestTimeout(Duration.ofMinutes(1))
                .loadDeadline(Duration.ofMinutes(2));
    }

    private ObjectStore transport(S3ClientLibrary client) {
        return ObjectStoreFactory.open(config(client).build());
    }

    private static String object(String key, String more) {
        return "<Contents><Key>" + key + "</Key>" + more + "</Contents>";
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("a missing or malformed Last-Modified counts as unknown: the object is found, by"
            + " every request")
    void dates(S3ClientLibrary client) {
        try (ObjectStore store = transport(client)) {
            for (String date : WRONG_DATES) {
                server.replyToEach(request -> RawHttpServer.response(
                        "200 OK",
                        "ETag: \"e\"\r\n" + date,
                        request.method().equals("HEAD") ? "" : "12345"));
                GetResult.Found found =
                        assertThat(store.get("key", 10)).as(date).isFound();
                assertArrayEquals(
                        "12345".getBytes(UTF_8), found.bytes().toArray(ValueLayout.JAVA_BYTE));
                assertEquals(ServerTimestamps.NONE, found.dates(), date);
                assertEquals(
                        ServerTimestamps.NONE,
                        assertThat(store.head("key")).as(date).isFound().dates(),
                        date);
                assertThat(store.range("key", 0, 5)).as(date).isFound();
                assertEquals(
                        new WriteResult.Done("e"), store.putIfAbsent("key", new byte[3]), date);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName(
            "headers that a client library reads and Granary does not cause no failure; without"
                    + " an ETag a read is found and a write unknown")
    void headers(S3ClientLibrary client) {
        String malformed = String.join(
                "\r\n",
                "x-amz-missing-meta: many",
                "x-amz-mp-parts-count: -",
                "x-amz-object-lock-retain-until-date: never",
                "x-amz-tagging-count: x",
                "x-amz-delete-marker: perhaps",
                "Expires: 0",
                "x-amz-object-lock-mode: ?",
                "x-amz-version-id: ",
                "");
        try (ObjectStore store = transport(client)) {
            server.replyToEach(request -> RawHttpServer.response(
                    "200 OK", malformed, request.method().equals("HEAD") ? "" : "12345"));
            assertEquals("", assertThat(store.get("key", 10)).isFound().etag());
            assertEquals("", assertThat(store.head("key")).isFound().etag());
            StoreFailure failure =
                    assertThat(store.putIfAbsent("key", new byte[3])).isUnknown();
            assertTrue(failure.message().contains("without an ETag"), failure::toString);
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("a listing passes on only what was requested: no key outside of the prefix,"
            + " nothing without a key")
    void foreignKeys(S3ClientLibrary client) {
        String more = "<Size>3</Size>" + ETAG_AND_TIME;
        String all = LIST + object("p/one", more) + object("x", more) + object("P/one", more)
                + object("other/p/one", more) + object("p/two", more) + "</ListBucketResult>";
        server.reply(RawHttpServer.response("200 OK", XML, all));
        try (ObjectStore store = transport(client)) {
            List<String> keys = new ArrayList<>();
            assertEquals(
                    new ListResult.Complete(2), store.list("p/", object -> keys.add(object.key())));
            assertEquals(List.of("p/one", "p/two"), keys);
            for (String keyless : List.of(
                    "<Contents><Size>1</Size></Contents>",
                    "<Contents>" + more + "</Contents>",
                    object("", more))) {
                server.reply(RawHttpServer.response(
                        "200 OK", XML, LIST + keyless + "</ListBucketResult>"));
                assertNothing(store.list("p/", object -> keys.add(object.key())), keyless);
                assertNothing(store.list("p", object -> keys.add(object.key())), keyless);
            }
            assertEquals(2, keys.size());
        }
    }

    /** A client may skip what it cannot parse, or fail the whole page. */
    private static void assertNothing(ListResult result, String reported) {
        switch (result) {
            case ListResult.Complete complete -> assertEquals(0, complete.objects(), reported);
            case ListResult.Unavailable lost ->
                assertEquals(StoreFailure.Kind.BROKEN, lost.failure().kind(), reported);
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("dates and sizes of a listing outside of any number range: a result, whatever"
            + " they are")
    void listedDates(S3ClientLibrary client) {
        try (ObjectStore store = transport(client)) {
            for (String date : List.of(
                    "+292278995-01-01T00:00:00Z",
                    "-1000000000-01-01T00:00:00Z",
                    "yesterday",
                    "",
                    "2026-01-01T00:00:00.000Z")) {
                server.reply(RawHttpServer.response(
                        "200 OK",
                        XML,
                        LIST
                                + object(
                                        "key",
                                        "<Size>1</Size><ETag>\"e\"</ETag><LastModified>" + date
                                                + "</LastModified>")
                                + "</ListBucketResult>"));
                ListResult result =
                        store.list("", object -> assertTrue(object.lastModifiedMillis() >= 0));
                if (result instanceof ListResult.Unavailable lost) {
                    assertFalse(lost.failure().message().contains("Exception:"), lost::toString);
                }
            }
            server.reply(RawHttpServer.response(
                    "200 OK",
                    XML,
                    LIST
                            + object("key", "<Size>-16</Size>" + ETAG_AND_TIME)
                            + "</ListBucketResult>"));
            assertEquals(
                    new ListResult.Complete(1),
                    store.list("", object -> assertEquals(0, object.bytes())));
            server.reply(RawHttpServer.response(
                    "200 OK",
                    XML,
                    LIST + object("key", "<Size>99999999999999999999</Size>")
                            + "</ListBucketResult>"));
            assertThat(store.list("", _ -> {})).isUnavailable();
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("5 GiB are declared and streamed: reported as too large, without reading them")
    void huge(S3ClientLibrary client) {
        server.reply(RawHttpServer.flood(5368709120L));
        try (ObjectStore store = transport(client)) {
            assertThat(store.get("key", EntryFormat.MAX_BYTES)).isTooLarge();
            assertThat(store.range("key", 0, 1 << 10)).isTooLarge();
            assertThat(store.list("", _ -> {})).isUnavailable();
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("a redirect to a page is one request for a lookup, and its status is reported")
    void redirect(S3ClientLibrary client) {
        server.reply(RawHttpServer.response(
                "302 Found", "Location: http://127.0.0.1:1/sign-in\r\n", ""));
        S3Config config = config(client).build().forPacks();
        try (ResilientObjectStore store = new ResilientObjectStore(
                _ -> ObjectStoreFactory.open(config), config, Ticker.SYSTEM)) {
            StoreFailure failure = assertThat(store.get("key", 10)).isUnavailable();
            assertEquals("302 redirect, which is not followed", failure.toString());
            assertEquals(1, server.requests());
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("after a reset the cause is reported, also for requests rejected afterwards,"
            + " and in no client library's internal terms")
    void reset(S3ClientLibrary client) throws IOException {
        try (ResettingServer resetting = new ResettingServer(ResettingServer.At.FIRST);
                BucketTier tier = BucketTier.open(S3Config.builder("bucket")
                        .endpoint(resetting.endpoint())
                        .client(client)
                        .credentials("key", SECRET)
                        .build())) {
            for (int i = 0; i < 20; i++) {
                String cause = assertThat(tier.load(entries.id())).isUnavailable();
                assertTrue(
                        cause.contains("reset") || cause.contains("closed the connection"), cause);
                assertFalse(cause.contains("limit=0") || cause.contains("Cannot invoke"), cause);
            }
            assertEquals(BucketTierStatistics.Breaker.OPEN, tier.statistics().breaker());
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("a server that echoes the secret key, a token or a signature: no result"
            + " contains it, for any request and response form")
    void echo(S3ClientLibrary client) {
        String error = "<Error><Code>AccessDenied</Code><Message>you sent " + SECRET
                + " and IQoJb3JpZ2luX2VjEXaMPLeTokEn1234567890abcdEF==</Message></Error>";
        try (ObjectStore store = transport(client)) {
            for (RawHttpServer.Reply scripted : List.of(
                    RawHttpServer.response("403 Forbidden", XML, error),
                    RawHttpServer.response("500 No", XML, error),
                    RawHttpServer.response("200 OK", "Content-Type: text/html\r\n", error),
                    RawHttpServer.response("403 " + SECRET, "", error),
                    RawHttpServer.response(
                            "403 Forbidden",
                            XML,
                            "<Error><Code>" + SECRET + "</Code><Message>" + "m".repeat(100_000)
                                    + "</Message></Error>"))) {
                server.reply(scripted);
                for (Object result : List.of(
                        store.get("key", 10),
                        store.head("key"),
                        store.putIfAbsent("key", new byte[1]),
                        store.delete("key"),
                        store.list("", _ -> {}))) {
                    String text = result.toString();
                    assertFalse(
                            text.contains(SECRET)
                                    || text.contains("EXaMPLeTokEn")
                                    || text.length() > 500,
                            text);
                }
            }
        }
    }
}
