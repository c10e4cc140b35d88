package dev.granary.s3;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import dev.granary.cache.Entry;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.embedded.EmbeddedS3;
import dev.granary.s3.pack.PackPublisher;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Tests of thousands of concurrent lookups over few connections, in a process with a small heap.
 */
@Tag("exhaustive")
class BulkFetchTest {
    private static final int LOADS = 10_000;
    private static final int IDS = 200;
    private static final int CONNECTIONS = 50;
    private static final int ENTRY_BYTES = 100 << 10;
    private static final int HEAP_MEBIBYTES = 192;
    private static final Duration REQUEST = Duration.ofSeconds(60);

    private final TestEntries entries = new TestEntries("BulkFetchTest");
    private final EmbeddedS3 server;

    BulkFetchTest() throws IOException {
        server = EmbeddedS3.start(null);
        server.createBucket("bulk");
    }

    @AfterEach
    void close() {
        server.close();
    }

    private S3Config config() {
        return S3Config.builder("bulk")
                .endpoint(server.endpoint())
                .credentials(server.accessKey(), server.secretKey())
                .build();
    }

    private Entry entry(int number) {
        return entries.entry(BulkFetchProcess.id(number), ENTRY_BYTES);
    }

    private void publishUnpacked() {
        try (BucketTier tier = BucketTier.open(config())) {
            for (int i = 0; i < IDS; i++) {
                assertThat(tier.store(entry(i))).isStored();
            }
        }
    }

    private void publishInPacks() {
        List<StoreResult> results = new ArrayList<>();
        try (BulkBucket bucket = BulkBucket.open(config())) {
            PackPublisher publisher = bucket.publisher(
                    TestEntries.TARGET.path(),
                    entry -> fail("published unpacked: " + entry.id()),
                    cause -> fail(cause));
            for (int i = 0; i < IDS; i++) {
                assertTrue(publisher.add(entry(i), results::add));
            }
            publisher.finish();
        }
        results.forEach(result -> assertThat(result).isStored());
        assertEquals(IDS, results.size());
    }

    private Map<String, String> fetch(
            S3ClientLibrary client, int connections, Duration request, Duration deadline)
            throws Exception {
        server.resetRequests();
        Map<String, String> output =
                SmallProcess.values(SmallProcess.of(BulkFetchProcess.class, HEAP_MEBIBYTES)
                        .run(
                                client.name(),
                                server.endpoint().toString(),
                                server.accessKey(),
                                server.secretKey(),
                                "s3://bulk",
                                Integer.toString(LOADS),
                                Integer.toString(IDS),
                                Integer.toString(connections),
                                Long.toString(request.toMillis()),
                                Long.toString(deadline.toMillis())));
        assertTrue(
                server.maxConcurrentRequests() <= connections,
                () -> server.maxConcurrentRequests() + " requests at once");
        return output;
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("10,000 concurrent lookups over 50 connections, in a heap of 192 MiB: all hit, one"
            + " request each, at most 50 at the server")
    void unpacked(S3ClientLibrary client) throws Exception {
        publishUnpacked();
        Map<String, String> output = fetch(client, CONNECTIONS, REQUEST, REQUEST.multipliedBy(5));
        assertEquals(Integer.toString(LOADS), output.get("hit"), output::toString);
        // and one for the head
        assertTrue(Integer.parseInt(output.get("gets")) <= LOADS + 1, output::toString);
        assertEquals("0", output.get("heads"));
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("the same with packed entries: the head and the index are read once")
    void packs(S3ClientLibrary client) throws Exception {
        publishInPacks();
        Map<String, String> output = fetch(client, CONNECTIONS, REQUEST, REQUEST.multipliedBy(5));
        assertEquals(Integer.toString(LOADS), output.get("hit"), output::toString);
        // head, index
        assertEquals(Integer.toString(LOADS + 2), output.get("gets"), output::toString);
    }

    @Test
    @DisplayName("with a short deadline, lookups that cannot be served in time are misses, and none"
            + " takes longer")
    void shortDeadline() throws Exception {
        shortDeadline(S3ClientLibrary.AWS);
    }

    @Test
    @DisplayName("with a short deadline the same holds for the MinIO client")
    void shortDeadlineWithMinio() throws Exception {
        shortDeadline(S3ClientLibrary.MINIO);
    }

    private void shortDeadline(S3ClientLibrary client) throws Exception {
        publishInPacks();
        Duration deadline = Duration.ofSeconds(8);
        Map<String, String> output = fetch(client, 1, Duration.ofSeconds(4), deadline);
        assertTrue(output.containsKey("late"), output::toString);
        // absent: the head could not be read in time, and there is no unpacked entry
        long all = Stream.of("hit", "late", "absent")
                .mapToLong(result -> Long.parseLong(output.getOrDefault(result, "0")))
                .sum();
        assertEquals(LOADS, all, output::toString);
        WireHistory.assertInTime(
                System.nanoTime()
                        - Duration.ofMillis(Long.parseLong(output.get("longest")))
                                .toNanos(),
                deadline);
    }
}
