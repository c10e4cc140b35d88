package dev.granary.s3;

import dev.granary.cache.Entry;
import dev.granary.cache.StoreResult;
import dev.granary.cache.support.Ticker;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.pack.PackNamer;
import dev.granary.s3.pack.PackPublisher;
import dev.granary.s3.pack.PackReader;
import dev.granary.s3.pack.compact.PackAdopter;
import dev.granary.s3.pack.compact.PackCompactor;
import dev.granary.s3.pack.compact.PackRemover;
import dev.granary.s3.pack.warm.BulkEntryReader;
import dev.granary.s3.resilience.RequestCounters;
import dev.granary.s3.resilience.ResilientObjectStore;
import dev.granary.s3.statistics.BucketTierStatistics;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.TrafficCounter;

import java.security.SecureRandom;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/**
 * A bucket for transfers of whole packs: populate, warm, compact. It has its own connections, whose
 * requests may take longer than those of a lookup. Thread-safe.
 */
public final class BulkBucket implements AutoCloseable {
    private final S3Config config;
    private final PackReader.Settings settings;
    private final RequestCounters counters = new RequestCounters();
    private final ResilientObjectStore store;
    private final TrafficCounter traffic;
    private final RandomGenerator random;
    private final Ticker ticker;

    BulkBucket(
            S3Config config,
            Supplier<ObjectStore> transport,
            Ticker ticker,
            RandomGenerator random) {
        this(config, transport, ticker, random, new TrafficCounter());
    }

    private BulkBucket(
            S3Config config,
            Supplier<ObjectStore> transport,
            Ticker ticker,
            RandomGenerator random,
            TrafficCounter traffic) {
        this.config = config.forPacks();
        this.traffic = traffic;
        this.store = new ResilientObjectStore(transport, this.config, ticker, counters, traffic);
        this.random = random;
        this.ticker = ticker;
        this.settings = new PackReader.Settings(
                new BucketLayout(config.location()), this.config.packIndexCache(), random, ticker);
    }

    /** Opens the bucket. Sends no request and loads no client library before the first use. */
    public static BulkBucket open(S3Config config) {
        TrafficCounter traffic = new TrafficCounter();
        return new BulkBucket(
                config,
                () -> ObjectStoreFactory.open(config.forPacks(), traffic),
                Ticker.SYSTEM,
                new SecureRandom(),
                traffic);
    }

    /** Returns a reader that fills a node from the packs of the target with this namespace. */
    public BulkEntryReader bulkReader(String namespace) {
        return new BulkEntryReader(
                store,
                settings.keys(namespace),
                settings.indexCache(namespace),
                settings.register(store, namespace));
    }

    /**
     * Returns a publisher of packs for the target with this namespace.
     *
     * @param unpacked publishes an entry whose pack cannot be published
     * @param disproved called with the evidence if conditional writes prove not to be exact
     */
    public PackPublisher publisher(
            String namespace, Function<Entry, StoreResult> unpacked, Consumer<String> disproved) {
        return new PackPublisher(
                store,
                settings.keys(namespace),
                settings.register(store, namespace),
                namer(namespace, disproved),
                unpacked,
                random,
                ticker);
    }

    private PackNamer namer(String namespace, Consumer<String> disproved) {
        return new PackNamer(
                store, settings.keys(namespace), settings.register(store, namespace), disproved);
    }

    /** Returns a compactor of the target with this namespace. */
    public PackCompactor compactor(String namespace) {
        return new PackCompactor(
                store,
                settings.keys(namespace),
                settings.register(store, namespace),
                random,
                ticker);
    }

    /** Returns a remover of unused packs of the target with this namespace. */
    public PackRemover remover(String namespace) {
        return new PackRemover(
                store, settings.keys(namespace), settings.register(store, namespace));
    }

    /**
     * Returns an adopter of packs of the target with this namespace.
     *
     * @param disproved called with the evidence if conditional writes prove not to be exact
     */
    public PackAdopter adopter(String namespace, Consumer<String> disproved) {
        return new PackAdopter(
                store,
                settings.keys(namespace),
                settings.register(store, namespace),
                namer(namespace, disproved),
                ticker);
    }

    /** Returns the counter of bytes between this process and the bucket, for progress displays. */
    public TrafficCounter traffic() {
        return traffic;
    }

    /** Returns the number of requests sent so far, by kind. */
    public BucketTierStatistics.Requests requests() {
        return counters.requests();
    }

    /** Returns the number of reads that were retried; included in {@link #requests}. */
    public long retries() {
        return counters.retries.sum();
    }

    /** Returns the state of the circuit breaker. */
    public BucketTierStatistics.Breaker breaker() {
        return store.breaker();
    }

    /** Returns how often the circuit breaker opened. */
    public long breakerOpenings() {
        return store.breakerOpenings();
    }

    /** Closes the connections. */
    @Override
    public void close() {
        store.close();
    }
}
