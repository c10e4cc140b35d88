package dev.granary.s3;

import static dev.granary.testing.BucketAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.Compression;
import dev.granary.cache.format.EntryFormat.VerificationLevel;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3ConfigBuilder;
import dev.granary.s3.config.S3Location;
import dev.granary.s3.contract.FaultyS3;
import dev.granary.s3.contract.TestS3;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.probe.ConditionalWriteSupport;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;

/** A prefix of its own in the test bucket, with a faulty path to it and a sound one. */
final class WireHistory implements AutoCloseable {
    private static final Duration HANG = Duration.ofMinutes(1);
    // ends with the process
    private static final ObjectStore SOUND_PATH =
            ObjectStoreFactory.open(TestS3.server().config().build());

    final FaultyS3 faulty = TestS3.server().faulty();
    private final S3Location place = TestS3.server().config().build().location();
    private final BucketLayout layout = new BucketLayout(place);

    WireHistory() throws IOException {
        // probed before, by another process
        byte[] marker =
                TestProcess.marker(TestS3.server().config().build(), ConditionalWriteSupport.FULL);
        assertThat(SOUND_PATH.putIfAbsent(layout.marker(), marker)).isDone();
    }

    /**
     * Returns settings for this prefix over the faulty path. The pauses after refusals and failures
     * are negligible; no packs.
     */
    S3ConfigBuilder config(S3ClientLibrary client, Duration requestTimeout, Duration loadDeadline) {
        return TestS3.server()
                .config()
                .prefix(place.prefix())
                .endpoint(faulty.endpoint())
                .client(client)
                .requestTimeout(requestTimeout)
                .loadDeadline(loadDeadline)
                .breakerPause(Duration.ofMillis(1))
                .refreshInterval(Duration.ZERO);
    }

    /** Returns the prefix, with a trailing slash. */
    String prefix() {
        return place.prefix() + "/";
    }

    /** Stores {@code entry} sound or with one bit changed. */
    void place(Entry entry, boolean isDamaged, SplittableRandom random) {
        UUID putId = new UUID(random.nextLong(), random.nextLong());
        byte[] body = EntryFormat.encode(entry, Compression.ZSTD, putId);
        if (isDamaged) {
            body[ResultOracle.damagedByte(random, body.length)] ^= 1;
        }
        assertThat(SOUND_PATH.putIfAbsent(layout.entry(entry.id()), body)).isDone();
    }

    /** Returns the result of a sound reader, once no request is in progress. */
    LoadResult readSound(Id id) throws InterruptedException {
        assertTrue(faulty.awaitIdle(HANG), "a request is still in progress");
        return switch (SOUND_PATH.get(layout.entry(id), EntryFormat.MAX_BYTES)) {
            case GetResult.Found found ->
                EntryFormat.decode(found.bytes(), id, VerificationLevel.CONTENT_HASH);
            case GetResult.Absent _ -> LoadResult.ABSENT;
            case GetResult.TooLarge _, GetResult.Unavailable _ ->
                throw new AssertionError("The sound path is not");
        };
    }

    /** Returns the number of objects for that id below this prefix. */
    long objects(Id id) {
        List<String> keys = new ArrayList<>();
        assertThat(SOUND_PATH.list(prefix(), object -> keys.add(object.key()))).isComplete();
        return keys.stream().filter(key -> key.contains(id.hash().hex())).count();
    }

    /**
     * Checks that the time since {@code startNanos} is within the limit: a check against hanging,
     * not of speed.
     */
    static void assertInTime(long startNanos, Duration limit) {
        Duration elapsed = Duration.ofNanos(System.nanoTime() - startNanos);
        assertTrue(
                elapsed.compareTo(limit.plus(HANG)) < 0,
                () -> "took " + elapsed + ", and may take " + limit);
    }

    /**
     * Checks O1: the requests counted as sent are those received; more may be sent than received if
     * connections end.
     */
    void compareRequests(List<BucketTier> tiers) throws InterruptedException {
        assertTrue(faulty.awaitIdle(HANG), "a request is still in progress");
        List<String> received = faulty.exchanges().stream()
                .map(exchange -> exchange.request().operation())
                .toList();
        if (faulty.exchanges().stream().noneMatch(exchange -> exchange.fault().mayHideRequests())) {
            RequestAccounting.compareRequests(tiers, received);
        } else {
            long sent = tiers.stream()
                    .map(tier -> tier.statistics().requests())
                    .mapToLong(
                            all -> all.get() + all.head() + all.put() + all.delete() + all.list())
                    .sum();
            assertTrue(received.size() <= sent, "an uncounted request");
        }
    }

    @Override
    public void close() {
        faulty.close();
    }
}
