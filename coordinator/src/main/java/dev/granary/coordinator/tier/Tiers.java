package dev.granary.coordinator.tier;

import dev.granary.cache.Backend;
import dev.granary.cache.Deadline;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.cache.Target;
import dev.granary.cache.support.Closer;
import dev.granary.cache.support.Warnings;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.observe.EventDispatcher;
import dev.granary.coordinator.observe.EventKind;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics.LayerStatistics;
import dev.granary.local.LocalTier;
import dev.granary.s3.BucketTier;

import java.nio.file.Files;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BiFunction;

/**
 * The open tiers below the memory tier. Thread-safe.
 *
 * @param local the local tier; one that stores nothing if the capacity is 0
 * @param directory its switch; empty if it is a plugged cache
 * @param layers the buckets and plugged caches, in lookup order
 * @param compileTimes the compile times, by which the time budgets are measured
 * @param layerWait the longest wait of a lookup for all layers together
 */
public record Tiers(
        CountedTier local,
        Optional<SwitchedTier> directory,
        List<Layer> layers,
        CompileTimes compileTimes,
        Duration layerWait)
        implements AutoCloseable {
    /** The name of the local tier. */
    public static final String LOCAL = "local";

    /**
     * The wait of a lookup for all layers together, unless the configured wait for one is longer:
     * 10 s.
     */
    static final Duration LAYER_WAIT = Duration.ofSeconds(10);

    /** The wait for a bucket of a lookup that changes nothing, which may take longer: 30 s. */
    private static final Duration READ_WAIT = Duration.ofSeconds(30);

    /** The limit of a store in a plugged cache or a shared directory, in the background: 60 s. */
    private static final Duration STORE_LIMIT = Duration.ofSeconds(60);

    /** The id of no entry, for calls that try a tier or open its connection. */
    public static final Id UNKNOWN_ID = Id.builder(
                    new Target(Backend.OPENCL, "granary", "none", "none"))
            .field("kind", "connect")
            .build();

    public Tiers {
        layers = List.copyOf(layers);
    }

    /**
     * The caches to open.
     *
     * @param local the plugged local cache; empty: that of the configuration
     * @param before the plugged layers before the configured buckets
     * @param after those after them
     * @param buckets opens the configured buckets
     * @param clock the clock of the local tier
     */
    public record Sources(
            Optional<PersistentCache> local,
            List<Plugged> before,
            List<Plugged> after,
            BucketOpener buckets,
            InstantSource clock) {}

    public record Plugged(String name, boolean isWritable, PersistentCache cache) {}

    @FunctionalInterface
    public interface BucketOpener {
        /** Opens a bucket. No request is sent. */
        OpenBucket open(BucketConfig bucket) throws ConfigException;
    }

    /**
     * An open bucket.
     *
     * @param cache the bucket
     * @param tier the same; empty for a shared directory or a fake
     */
    public record OpenBucket(PersistentCache cache, Optional<BucketTier> tier) {
        static OpenBucket of(BucketTier tier) {
            return new OpenBucket(tier, Optional.of(tier));
        }
    }

    /**
     * Opens the tiers. No request is sent. If this fails, those that were opened are closed.
     *
     * @throws ConfigException if the configuration cannot work, with the necessary change
     */
    public static Tiers open(GranaryConfig config, Sources sources, EventDispatcher events)
            throws ConfigException {
        CompileTimes compileTimes = new CompileTimes();
        List<Layer> layers = new ArrayList<>();
        try {
            Opening opening = new Opening(compileTimes, config.bucketWait(), events, layers);
            sources.before().forEach(opening::add);
            for (BucketConfig bucket : config.buckets()) {
                OpenBucket opened = sources.buckets().open(bucket);
                opening.add(
                        new CacheTier(bucket.name(), opened.cache()),
                        bucket.isWritable(),
                        bucket instanceof BucketConfig.Directory
                                ? Optional.of(STORE_LIMIT)
                                : Optional.empty(),
                        opened.tier());
            }
            sources.after().forEach(opening::add);
            Optional<SwitchedTier> directory = sources.local().isPresent()
                    ? Optional.empty()
                    : Optional.of(openDirectory(config, sources.clock(), events));
            return new Tiers(
                    new CountedTier(
                            directory.isPresent()
                                    ? directory.get()
                                    : openPlugged(config, sources.local().get(), compileTimes),
                            EventKind.STORE,
                            events),
                    directory,
                    layers,
                    compileTimes,
                    config.bucketWait().compareTo(LAYER_WAIT) > 0
                            ? config.bucketWait()
                            : LAYER_WAIT);
        } catch (ConfigException | RuntimeException | Error e) {
            close(layers);
            throw e;
        }
    }

    /**
     * Opens the tiers for a lookup that changes nothing: no use is recorded, nothing is created,
     * removed or stored, also no state of buckets on the disk.
     *
     * @throws ConfigException if the configuration cannot work, with the necessary change
     */
    public static Tiers openToRead(GranaryConfig config, EventDispatcher events)
            throws ConfigException {
        CompileTimes compileTimes = new CompileTimes();
        List<Layer> layers = new ArrayList<>();
        try {
            Opening opening = new Opening(compileTimes, READ_WAIT, events, layers);
            for (BucketConfig bucket : config.buckets()) {
                OpenBucket opened = TierFactory.open(bucket, Optional.empty());
                opening.add(
                        new CacheTier(bucket.name(), opened.cache()),
                        false,
                        Optional.empty(),
                        opened.tier());
            }
            boolean isOff = config.capacityBytes() == 0 || Files.notExists(config.directory());
            Tier local = isOff
                    ? new SwitchedTier(null)
                    : new ReadOnlyTier(new CacheTier(
                            LOCAL, new CatalogReader(TierFactory.localWithoutEviction(config))));
            return new Tiers(
                    new CountedTier(local, EventKind.STORE, events),
                    Optional.empty(),
                    layers,
                    compileTimes,
                    READ_WAIT.multipliedBy(Math.max(1, layers.size())));
        } catch (ConfigException | RuntimeException | Error e) {
            close(layers);
            throw e;
        }
    }

    /** A local tier that is read as tools do, which records no use. */
    private record CatalogReader(LocalTier directory) implements PersistentCache {
        @Override
        public LoadResult load(Id id) {
            return directory.read(new EntryCatalog.Listed(id.target().path(), id.hash(), 0, 0));
        }

        @Override
        public StoreResult store(Entry entry) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void discard(Entry entry) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void close() {
            directory.close();
        }
    }

    /** The layers that are opened so far. */
    private record Opening(
            CompileTimes compileTimes,
            Duration bucketWait,
            EventDispatcher events,
            List<Layer> layers) {
        void add(Plugged plugged) {
            add(
                    new CheckedTier(new CacheTier(plugged.name(), plugged.cache())),
                    plugged.isWritable(),
                    Optional.of(STORE_LIMIT),
                    Optional.empty());
        }

        void add(
                Tier tier,
                boolean isWritable,
                Optional<Duration> storeLimit,
                Optional<BucketTier> bucket) {
            BoundedTier bounds = new BoundedTier(
                    isWritable ? tier : new ReadOnlyTier(tier),
                    new TimeBudget(compileTimes, bucketWait),
                    storeLimit);
            layers.add(new Layer(
                    layers.size(),
                    new CountedTier(bounds, EventKind.UPLOAD, events),
                    bounds,
                    isWritable,
                    bucket));
        }
    }

    private static SwitchedTier openDirectory(
            GranaryConfig config, InstantSource clock, EventDispatcher events)
            throws ConfigException {
        if (config.capacityBytes() == 0) {
            return new SwitchedTier(null);
        }
        LocalTier opened = TierFactory.local(config, config.capacityBytes(), clock);
        opened.setEvictionListener(() -> events.beginEviction(LOCAL, Counter.LOCAL_EVICTED));
        return new SwitchedTier(opened);
    }

    private static Tier openPlugged(
            GranaryConfig config, PersistentCache cache, CompileTimes compileTimes)
            throws ConfigException {
        if (config.capacityBytes() != 0) {
            TierFactory.prepareDirectory(config);
        }
        return new BoundedTier(
                new CheckedTier(new CacheTier(LOCAL, cache)),
                new TimeBudget(compileTimes, GranaryConfig.DEFAULT_BUCKET_WAIT),
                Optional.of(STORE_LIMIT));
    }

    /** Returns the local tier alone, for lookups that read no layer; not to be closed. */
    public Tiers withoutLayers() {
        return new Tiers(local, directory, List.of(), compileTimes, layerWait);
    }

    /**
     * Loads an entry from the layers in order, until {@code use} returns a result for a hit. One
     * deadline limits the wait for all; each layer may use an equal share of the time that is left.
     *
     * @param ids the ids of the same inputs in one or several namespaces, in the order in which
     *     each layer is searched for them
     * @param end the end of the caller's wait; if it is over, no layer is asked
     * @param use returns empty if it cannot use the entry of this layer
     */
    public <T> Optional<T> search(
            List<Id> ids, Deadline end, BiFunction<Entry, Layer, Optional<T>> use) {
        Deadline deadline = end.within(layerWait.toNanos());
        for (int i = 0; i < layers.size() && !deadline.isOver(); i++) {
            Layer layer = layers.get(i);
            if (layer.tier().load(ids, deadline.share(layers.size() - i))
                    instanceof LoadResult.Hit(Entry entry)) {
                Optional<T> used = use.apply(entry, layer);
                if (used.isPresent()) {
                    return used;
                }
            }
        }
        return Optional.empty();
    }

    /** Opens a connection to each layer, and logs failures. */
    public void connect() {
        List<Thread> threads = layers.stream() // a silent bucket must not delay the others
                .map(layer -> Thread.startVirtualThread(() -> connect(layer)))
                .toList();
        Deadline deadline = Deadline.after(layerWait);
        try {
            for (Thread thread : threads) {
                thread.join(Duration.ofNanos(deadline.left()));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void connect(Layer layer) {
        try {
            layer.bounds().connect(UNKNOWN_ID);
        } catch (Throwable e) { // left to the lookups
            Warnings.warn("connect", "The first connection to " + layer.name() + " failed: " + e);
        }
    }

    private static void close(List<Layer> layers) {
        try (Closer all = new Closer()) {
            layers.forEach(layer -> all.add(layer.tier()));
        }
    }

    @Override
    public void close() {
        try (Closer all = new Closer()) {
            all.add(local);
            all.add(() -> close(layers));
        }
    }

    /**
     * A remote tier: a bucket, or a cache that the application plugged in.
     *
     * @param position the position in the order of lookups, counted from 0
     * @param tier the tier
     * @param bounds the limits of the tier, which know its failures
     * @param isWritable true if entries may be published there
     * @param bucket the bucket; empty if the tier is of another implementation
     */
    public record Layer(
            int position,
            CountedTier tier,
            BoundedTier bounds,
            boolean isWritable,
            Optional<BucketTier> bucket) {
        public String name() {
            return tier.name();
        }

        /** Returns a snapshot of the counters, without the requests of uploads in packs. */
        public LayerStatistics statistics() {
            return new LayerStatistics(
                    name(),
                    tier.statistics(),
                    tier.skipped(),
                    bounds.failure(),
                    bounds.late(),
                    bucket.map(opened -> opened.traffic().quiet()).orElse(Duration.ZERO),
                    bucket.map(LayerStatistics.Requests::of));
        }
    }
}
