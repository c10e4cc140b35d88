package dev.granary.coordinator;

import static dev.granary.testing.BucketAssertions.assertThat;
import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.BucketTier;
import dev.granary.s3.ObjectStoreFactory;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.config.S3ConfigBuilder;
import dev.granary.s3.contract.FaultyS3;
import dev.granary.s3.embedded.EmbeddedS3;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.locks.LockSupport;

/** A separate prefix in a real bucket, with a faulty and a sound connection to it. */
final class FaultyBucket implements AutoCloseable {
    static final Duration LONG = Duration.ofSeconds(30);
    static final Duration SHORT = Duration.ofMillis(400);
    private static final Duration BREAKER_PAUSE = Duration.ofMillis(1);
    private static final EmbeddedS3 SERVER = start(); // stopped with the process
    private static final Entry OTHER = TestEntries.entry(
            TestEntries.id("of another machine"), FakeEngine.binaries(FakeDescriptor.of("x"), "x"));

    final FaultyS3 faulty = FaultyS3.inFrontOf(SERVER);
    private final String prefix = "test-" + UUID.randomUUID();

    FaultyBucket() throws IOException {}

    private static EmbeddedS3 start() {
        try {
            EmbeddedS3 server = EmbeddedS3.start(null);
            server.createBucket("kernels");
            return server;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private S3ConfigBuilder config(Duration requestTimeout) {
        return S3Config.builder("kernels")
                .prefix(prefix)
                .endpoint(SERVER.endpoint())
                .credentials(SERVER.accessKey(), SERVER.secretKey())
                .requestTimeout(requestTimeout)
                .loadDeadline(requestTimeout.multipliedBy(3))
                .breakerPause(BREAKER_PAUSE)
                .absentMemory(Duration.ZERO)
                .refreshInterval(Duration.ZERO);
    }

    /** Opens a tier on the sound connection, as another machine has it. */
    BucketTier sound() {
        return BucketTier.open(config(LONG).build());
    }

    /**
     * Opens a tier on the faulty connection, after it has connected and loaded an unrelated entry.
     */
    BucketTier faulty(Duration requestTimeout) {
        try (BucketTier sound = sound()) {
            sound.store(OTHER);
        }
        BucketTier tier = BucketTier.open(
                config(requestTimeout).endpoint(faulty.endpoint()).build());
        LoadResult result = tier.load(OTHER.id());
        long start = System.nanoTime();
        while (result instanceof LoadResult.Unavailable
                && System.nanoTime() - start < LONG.toNanos()) {
            // the client took longer to start than a request may, and the breaker is open
            LockSupport.parkNanos(BREAKER_PAUSE.toNanos());
            result = tier.load(OTHER.id());
        }
        assertThat(result).isHitOf(OTHER);
        return tier;
    }

    /** Stores an entry, as another machine does. */
    void store(Entry entry) {
        try (BucketTier sound = sound()) {
            assertThat(sound.store(entry)).isStored();
        }
    }

    /** Changes one bit in the middle of an entry's object. */
    void damage(Entry entry) {
        try (ObjectStore store = ObjectStoreFactory.open(config(LONG).build())) {
            List<String> keys = new ArrayList<>();
            store.list(prefix, object -> keys.add(object.key()));
            String key = keys.stream()
                    .filter(name -> name.contains(entry.id().hash().hex()))
                    .findFirst()
                    .orElseThrow();
            GetResult.Found found = assertThat(store.get(key, 1 << 20)).isFound();
            byte[] body = found.bytes().toArray(ValueLayout.JAVA_BYTE);
            body[body.length / 2] ^= 1;
            assertThat(store.replaceIfMatch(key, found.etag(), body)).isDone();
        }
    }

    /** Waits for late requests. */
    void awaitIdle() throws InterruptedException {
        assertTrue(faulty.awaitIdle(Duration.ofMinutes(5)));
    }

    @Override
    public void close() {
        faulty.close();
    }
}
