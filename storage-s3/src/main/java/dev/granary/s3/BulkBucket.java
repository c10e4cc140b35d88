package dev.granary.s3;

import dev.granary.cache.Entry;
import dev.granary.cache.StoreResult;
import dev.granary.cache.format.TrustPolicy;
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
import dev.granary.s3.register.Register;
import dev.granary.s3.resilience.ResilientObjectStore;
import dev.granary.s3.statistics.BucketTierStatistics;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.TrafficCounter;

import java.io.IOException;
import java.security.SecureRandom;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.random.RandomGenerator;

/**
 * A bucket for transfers of whole packs: populate, warm, compact. It has its own connections, whose
 * requests may take longer than those of a lookup. Thread-safe.
 */
public final class BulkBucket implements AutoCloseable {
    private final PackReader.Settings settings;
    private final ResilientObjectStore store;
    private final TrustPolicy trust;

    /** Opens the bucket; {@code transport} opens the transport that counts what it receives. */
    BulkBucket(
            S3Config config,
            Function<TrafficCounter, ObjectStore> transport,
            Ticker ticker,
            RandomGenerator random) {
        this.store = new ResilientObjectStore(transport, config.forPacks(), ticker);
        this.trust = config.trust();
        this.settings = new PackReader.Settings(
                new BucketLayout(config.location()), config.packIndexCache(), random, ticker);
    }

    /** Opens the bucket. Sends no request and loads no client library before the first use. */
    public static BulkBucket open(S3Config config) {
        return new BulkBucket(
                config,
                traffic -> ObjectStoreFactory.open(config.forPacks(), traffic),
                Ticker.SYSTEM,
                new SecureRandom());
    }

    /** Returns a reader that fills a node from the packs of the target with this namespace. */
    public BulkEntryReader bulkReader(String namespace) {
        return new BulkEntryReader(register(namespace), settings.indexCache(namespace), trust);
    }

    /**
     * Returns a publisher of packs for the target with this namespace.
     *
     * @param unpacked publishes an entry whose pack cannot be published
     * @param disproved called with the evidence if conditional writes prove not to be exact
     */
    public PackPublisher publisher(
            String namespace, Function<Entry, StoreResult> unpacked, Consumer<String> disproved) {
        return new PackPublisher(register(namespace), namer(namespace, disproved), unpacked);
    }

    private Register register(String namespace) {
        return settings.register(store, namespace);
    }

    private PackNamer namer(String namespace, Consumer<String> disproved) {
        return new PackNamer(register(namespace), disproved);
    }

    /** Returns a compactor of the target with this namespace. */
    public PackCompactor compactor(String namespace) {
        return new PackCompactor(register(namespace));
    }

    /** Returns a remover of unused packs of the target with this namespace. */
    public PackRemover remover(String namespace) {
        return new PackRemover(register(namespace));
    }

    /**
     * Returns an adopter of packs of the target with this namespace.
     *
     * @param disproved called with the evidence if conditional writes prove not to be exact
     */
    public PackAdopter adopter(String namespace, Consumer<String> disproved) {
        return new PackAdopter(register(namespace), namer(namespace, disproved));
    }

    /** Returns a collector of the bucket. */
    public BucketCollector collector() {
        return new BucketCollector(store, settings, new UseNotes(settings.layout(), store, store));
    }

    /**
     * Returns the plan of a collection of one target, for readers that leave out what it would
     * remove as unused.
     *
     * @param maxNotes the largest number of notes of use that are read
     * @throws IOException if it is not known what is unused, or there are more notes
     */
    public CollectionPlan.Target unused(String namespace, long maxNotes) throws IOException {
        return new BucketCollector(
                        store, settings, new UseNotes(settings.layout(), store, maxNotes))
                .plan(CollectionPlan.Rules.unused(namespace), settings.indexCache(namespace))
                .target(namespace);
    }

    /** Returns a collector that sends one request at a time, by the calling thread. */
    BucketCollector sequentialCollector() {
        return new BucketCollector(
                store, settings, new UseNotes(settings.layout(), store, store, 1));
    }

    /** Returns the pins of the bucket. */
    public BucketPins pins() {
        return new BucketPins(settings.layout(), store);
    }

    /** Returns the counter of bytes between this process and the bucket, for progress displays. */
    public TrafficCounter traffic() {
        return store.traffic();
    }

    /** Returns the counters and the state of these connections. Sends nothing. */
    public BucketTierStatistics statistics() {
        return store.statistics();
    }

    /** Closes the connections. */
    @Override
    public void close() {
        store.close();
    }
}
