package dev.granary.s3;

import dev.granary.s3.pack.Compaction;
import dev.granary.s3.pack.ManifestLog;
import dev.granary.s3.pack.PackPublisher;
import dev.granary.s3.pack.Packs;
import dev.granary.s3.pack.Warming;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.Traffic;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/**
 * A bucket for what moves whole packs: populate, warm, compact. It has its own connections, whose requests may take longer than those of a look-up.
 * Thread-safe.
 */
public final class PackedBucket implements AutoCloseable {
    private final S3Config config;
    private final BucketLayout layout;
    private final RequestCounters counters = new RequestCounters();
    private final ResilientStore store;
    private final Traffic traffic;
    private final RandomGenerator random;
    private final Consumer<Duration> pause;

    PackedBucket(S3Config config, Supplier<ObjectStore> transport, Timing timing, RandomGenerator random) {
        this(config, transport, timing, random, new Traffic());
    }

    private PackedBucket(S3Config config, Supplier<ObjectStore> transport, Timing timing, RandomGenerator random, Traffic traffic) {
        this.config = config.forPacks();
        this.traffic = traffic;
        this.layout = new BucketLayout(config.location());
        this.store = new ResilientStore(transport, this.config, timing, counters, traffic);
        this.random = random;
        this.pause = timing::pauseCalmly;
    }

    /** Opens the bucket, without a request and without loading a client library: that is left to the first use. */
    public static PackedBucket open(S3Config config) {
        Traffic traffic = new Traffic();
        return new PackedBucket(config, () -> ObjectStores.open(config.forPacks(), traffic), Timing.SYSTEM, new SecureRandom(), traffic);
    }

    /** The manifests of the target of that namespace. */
    public ManifestLog manifests(String namespace) {
        return Packs.manifests(store, settings(), namespace);
    }

    /** What fills a node from the packs of the target of that namespace. */
    public Warming warming(String namespace) {
        return Packs.warming(store, settings(), namespace);
    }

    /** What publishes entries of the target of that namespace in packs. */
    public PackPublisher publisher(String namespace) {
        return Packs.publisher(store, settings(), namespace);
    }

    /** What compacts the target of that namespace. */
    public Compaction compaction(String namespace) {
        return Packs.compaction(store, settings(), namespace);
    }

    /** The bytes that move between this process and the bucket, for tools that show progress. */
    public Traffic traffic() {
        return traffic;
    }

    /** How many requests were sent so far, by kind. */
    public BucketStatistics.Requests requests() {
        return counters.requests();
    }

    private Packs.Settings settings() {
        return new Packs.Settings(layout.root(), config.shelves(), random, pause);
    }

    /** Frees connections. */
    @Override
    public void close() {
        store.close();
    }
}
