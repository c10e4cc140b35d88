package dev.granary.s3;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.s3.config.S3ClientLibrary;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Tests of a server that sends endlessly, with a heap of 64 MiB: each request ends, in bounded
 * memory and time.
 */
class HostileServerTest {
    private static final int HEAP_MEBIBYTES = 64;
    private static final Duration SLACK = Duration.ofMinutes(5);
    private static final String LIST = "<?xml version=\"1.0\""
            + " encoding=\"UTF-8\"?><ListBucketResult><Name>bucket</Name><Prefix></Prefix>"
            + "<MaxKeys>1000</MaxKeys><KeyCount>1</KeyCount><IsTruncated>true</IsTruncated>";
    private static final String OBJECT =
            "<Contents><Key>KEY</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
                    + "<ETag>\"e\"</ETag><Size>1</Size></Contents>";
    private static final String ERROR =
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>InternalError</Code><Message>";

    private final ScriptedHttpServer server;
    private final AtomicLong pages = new AtomicLong();
    private final Map<String, ScriptedHttpServer.Answer> answers = new LinkedHashMap<>();

    HostileServerTest() throws IOException {
        server = new ScriptedHttpServer();
        answers.put("promised", ScriptedHttpServer.endless(200, 1L << 40, "", "x"));
        answers.put("chunked", ScriptedHttpServer.endless(200, 0, "", "x"));
        answers.put("part", ScriptedHttpServer.endless(206, 0, "", "x"));
        answers.put("dripping", server.dripping(1 << 20, 50));
        answers.put("silent", server.dripping(1L << 40, 60_000));
        answers.put("error", ScriptedHttpServer.endless(500, 0, ERROR, "x"));
        answers.put("page", ScriptedHttpServer.endless(404, 0, "<html>", "x"));
        answers.put("thanks", ScriptedHttpServer.endless(200, 0, "<ok>", "x"));
        answers.put("key", ScriptedHttpServer.endless(200, 0, LIST + "<Contents><Key>", "x"));
        answers.put("objects", ScriptedHttpServer.endless(200, 0, LIST, OBJECT));
        answers.put(
                "circle",
                ScriptedHttpServer.body(
                        200,
                        "application/xml",
                        LIST + OBJECT
                                + "<NextContinuationToken>again</NextContinuationToken>"
                                + "</ListBucketResult>"));
        answers.put("empty", exchange -> ScriptedHttpServer.body(
                        200,
                        "application/xml",
                        LIST + "<NextContinuationToken>" + pages.incrementAndGet()
                                + "</NextContinuationToken></ListBucketResult>")
                .handle(exchange));
        answers.put(
                "tokenless",
                ScriptedHttpServer.body(
                        200, "application/xml", LIST + OBJECT + "</ListBucketResult>"));
        answers.put("header", ScriptedHttpServer.longHeader(1 << 20));
        answers.put("many", ScriptedHttpServer.manyHeaders(400_000));
        server.answer(exchange -> {
            String requested = exchange.getRequestURI().toString();
            for (Map.Entry<String, ScriptedHttpServer.Answer> one : answers.entrySet()) {
                if (requested.contains("case-" + one.getKey())) {
                    one.getValue().handle(exchange);
                    return;
                }
            }
            throw new IOException("No expectation for " + requested);
        });
    }

    @AfterEach
    void close() {
        server.close();
    }

    /** Returns the expected prefix of the result of each request. */
    private static Map<String, String> expected() {
        Map<String, String> expected = new LinkedHashMap<>();
        expected.put("get:case-promised", "TooLarge");
        expected.put("get:case-chunked", "TooLarge");
        expected.put("get:case-dripping", "Unavailable");
        expected.put("range:case-part", "TooLarge");
        expected.put("ranges:case-silent", "Unavailable");
        expected.put("get:case-error", "Unavailable");
        expected.put("get:case-page", ""); // absent by its status, or unavailable by its length
        expected.put("put:case-error", "Unknown");
        expected.put("put:case-thanks", "Done");
        expected.put("delete:case-error", "Unknown");
        expected.put("list:case-error", "Unavailable");
        expected.put("list:case-key", "Unavailable");
        expected.put("list:case-objects", "Unavailable");
        expected.put("list:case-circle", "Unavailable");
        expected.put("list:case-empty", "Unavailable");
        expected.put("list:case-tokenless", "Unavailable");
        expected.put("head:case-header", "Unavailable");
        expected.put("get:case-header", "Unavailable");
        expected.put("get:case-many", "Unavailable");
        return expected;
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("endless bodies, errors, listings and declared lengths: a result in 64 MiB and in"
            + " time, for every request")
    @Tag("exhaustive")
    void endless(S3ClientLibrary client) throws Exception {
        List<String> arguments =
                new ArrayList<>(List.of(client.name(), server.endpoint().toString()));
        arguments.addAll(expected().keySet());
        Map<String, String> output =
                SmallProcess.values(SmallProcess.of(HostileProcess.class, HEAP_MEBIBYTES)
                        .run(arguments.toArray(String[]::new)));
        output.forEach((what, answer) -> System.out.println(client + " " + what + ": "
                + (answer.length() > 200 ? answer.substring(0, 200) : answer)));
        expected().forEach((what, beginning) -> {
            String answer = output.getOrDefault(what, "0 thrown nothing");
            String result = answer.substring(answer.indexOf(' ') + 1);
            assertTrue(
                    result.startsWith(beginning) && !result.startsWith("thrown"),
                    what + ": " + answer);
            Duration limit = HostileProcess.TIMEOUT.plus(SLACK);
            assertTrue(
                    Duration.ofMillis(Long.parseLong(answer.substring(0, answer.indexOf(' '))))
                                    .compareTo(limit)
                            < 0,
                    what + ": " + answer);
        });
        assertTrue(
                output.getOrDefault("list:case-circle", "").contains("continuation token"),
                output::toString);
        assertEquals(100, pages.get());
    }
}
