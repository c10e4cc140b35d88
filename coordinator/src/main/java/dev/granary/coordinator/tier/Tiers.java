package dev.granary.coordinator.tier;

import dev.granary.cache.Backend;
import dev.granary.cache.Deadline;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.Target;
import dev.granary.cache.support.Closer;
import dev.granary.cache.support.SharedStore;
import dev.granary.cache.support.Warnings;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.observe.EventDispatcher;
import dev.granary.coordinator.observe.EventKind;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics.LayerStatistics;
import dev.granary.coordinator.statistics.GranaryStatistics.LayerStatistics.Breaker;
import dev.granary.local.LocalDirectoryException;
import dev.granary.local.LocalTier;
import dev.granary.local.SharedDirectory;
import dev.granary.s3.BucketTier;
import dev.granary.s3.statistics.BucketTierStatistics;

import java.nio.file.Files;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Executors;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * The open tiers below the memory tier. Thread-safe.
 *
 * @param local the local tier; one that stores nothing if the capacity is 0
 * @param directory the local tier as a directory; empty if it is a plugged cache
 * @param layers the buckets and plugged caches, in lookup order
 * @param compileTimes the compile times, by which the time budgets are measured
 * @param layerWait the longest wait of a lookup for all layers together
 */
public record Tiers(
        CountedTier local,
        Optional<SwitchedCache> directory,
        List<Layer> layers,
        CompileTimes compileTimes,
        Duration layerWait)
        implements AutoCloseable {
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

    /** The caches to open; plugged layers are before and after the configured buckets. */
    public record Sources(
            Optional<PersistentCache> local,
            List<Source> before,
            List<Source> after,
            BucketOpener buckets,
            InstantSource clock) {}

    /** A layer: a bucket, or a plugged cache with a check of its answers. */
    public record Source(String name, boolean isWritable, PersistentCache cache) {
        public static Source plugged(String name, boolean isWritable, PersistentCache cache) {
            return new Source(name, isWritable, new CheckedCache(cache));
        }
    }

    @FunctionalInterface
    public interface BucketOpener {
        /** Opens a bucket. No request is sent. */
        PersistentCache open(BucketConfig bucket) throws ConfigException;
    }

    /** Opens the tiers. No request is sent. If this fails, those that were opened are closed. */
    public static Tiers open(GranaryConfig config, Sources sources, EventDispatcher events)
            throws ConfigException {
        return open(config, sources, config.bucketWait(), false, events);
    }

    /**
     * Opens the tiers for a lookup that changes nothing: no use is recorded, nothing is created,
     * removed or stored, also no state of buckets on the disk.
     */
    public static Tiers openToRead(GranaryConfig config, EventDispatcher events)
            throws ConfigException {
        Sources sources = new Sources(
                Optional.empty(),
                List.of(),
                List.of(),
                layer -> TierFactory.open(layer, Optional.empty()),
                InstantSource.system());
        return open(config, sources, READ_WAIT, true, events);
    }

    private static Tiers open(
            GranaryConfig config,
            Sources sources,
            Duration bucketWait,
            boolean isReadOnly,
            EventDispatcher events)
            throws ConfigException {
        CompileTimes compileTimes = new CompileTimes();
        List<Layer> layers = new ArrayList<>();
        Consumer<Source> add = source -> layers.add(
                layer(layers.size(), source, new TimeBudget(compileTimes, bucketWait), events));
        try {
            sources.before().forEach(add);
            for (BucketConfig bucket : config.buckets()) {
                add.accept(new Source(
                        bucket.name(),
                        bucket.isWritable() && !isReadOnly,
                        sources.buckets().open(bucket)));
            }
            sources.after().forEach(add);
            Optional<SwitchedCache> directory = sources.local().isPresent()
                    ? Optional.empty()
                    : Optional.of(openDirectory(config, sources.clock(), isReadOnly, events));
            CacheTier local = directory.isPresent()
                    ? new CacheTier(LOCAL, directory.get(), !isReadOnly)
                    : new BoundedTier(
                            LOCAL,
                            new CheckedCache(sources.local().orElseThrow()),
                            true,
                            new TimeBudget(compileTimes, GranaryConfig.DEFAULT_BUCKET_WAIT),
                            Optional.of(STORE_LIMIT));
            return new Tiers(
                    new CountedTier(local, EventKind.STORE, events),
                    directory,
                    layers,
                    compileTimes,
                    isReadOnly
                            ? Duration.ofNanos(bucketWait.toNanos() * Math.max(1, layers.size()))
                            : Collections.max(List.of(bucketWait, LAYER_WAIT)));
        } catch (ConfigException | RuntimeException | Error e) {
            close(layers);
            throw e;
        }
    }

    private static Layer layer(
            int position, Source source, TimeBudget budget, EventDispatcher events) {
        PersistentCache cache = source.cache();
        BoundedTier bounds = new BoundedTier(
                source.name(),
                cache,
                source.isWritable(),
                budget,
                cache instanceof CheckedCache || cache instanceof SharedDirectory
                        ? Optional.of(STORE_LIMIT)
                        : Optional.empty());
        return new Layer(
                position,
                new CountedTier(bounds, EventKind.UPLOAD, events),
                bounds,
                source.isWritable(),
                cache instanceof BucketTier bucket ? Optional.of(bucket) : Optional.empty(),
                cache instanceof SharedStore store ? Optional.of(store) : Optional.empty());
    }

    private static SwitchedCache openDirectory(
            GranaryConfig config, InstantSource clock, boolean isReadOnly, EventDispatcher events) {
        if (config.capacityBytes() == 0 || (isReadOnly && Files.notExists(config.directory()))) {
            return new SwitchedCache(Optional.empty(), !isReadOnly);
        }
        try {
            LocalTier opened = TierFactory.local(
                    config, isReadOnly ? Long.MAX_VALUE : config.capacityBytes(), clock);
            opened.setEvictionListener(() -> events.beginEviction(LOCAL, Counter.LOCAL_EVICTED));
            return new SwitchedCache(Optional.of(opened), !isReadOnly);
        } catch (LocalDirectoryException e) { // since TierFactory.usable has seen it
            Warnings.warn("directory " + e.getMessage(), String.valueOf(e.getMessage()));
            return new SwitchedCache(Optional.empty(), !isReadOnly);
        }
    }

    /**
     * Returns the layer that receives the compiled entries: the first writable one, since those
     * after it are shared more widely. Nothing is copied from one layer to another.
     */
    public Optional<Layer> target() {
        return layers.stream().filter(Layer::isWritable).findFirst();
    }

    /** Returns the local tier alone, for lookups that read no layer; not to be closed. */
    public Tiers withoutLayers() {
        return new Tiers(local, directory, List.of(), compileTimes, layerWait);
    }

    /**
     * Loads an entry from the layers in order, until {@code use} returns a result for a hit. One
     * deadline limits the wait for all; each layer may use an equal share of the time that is left.
     *
     * @param use returns empty if it cannot use the entry of this layer
     */
    public <T> Optional<T> search(
            List<Id> ids, Deadline end, Function<Found.Stored, Optional<T>> use) {
        Deadline deadline = end.within(layerWait.toNanos());
        for (int i = 0; i < layers.size() && !deadline.isOver(); i++) {
            Layer layer = layers.get(i);
            if (layer.tier().load(ids, deadline.share(layers.size() - i))
                    instanceof LoadResult.Hit(Entry entry)) {
                Optional<T> used = use.apply(layer.stored(entry, Duration.ZERO));
                if (used.isPresent()) {
                    return used;
                }
            }
        }
        return Optional.empty();
    }

    /** Opens a connection to each layer, and logs failures. */
    public void connect() {
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            // a silent bucket must not delay the others
            layers.forEach(layer -> threads.execute(() -> layer.bounds().connect(UNKNOWN_ID)));
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
     * @param bounds the limits of the tier, which know its failures
     * @param bucket the bucket; empty if the tier is of another implementation
     * @param store the bucket or shared directory; empty for a plugged cache
     */
    public record Layer(
            int position,
            CountedTier tier,
            BoundedTier bounds,
            boolean isWritable,
            Optional<BucketTier> bucket,
            Optional<SharedStore> store) {
        public String name() {
            return tier.name();
        }

        /** Returns true if the last lookup failed, and nothing was stored: it may be silent. */
        public boolean isFailing() {
            return bounds.failure().isPresent()
                    && tier.counted().getOrDefault(Counter.LAYER_STORED, 0L) == 0;
        }

        public Found.Stored stored(Entry entry, Duration waited) {
            return new Found.Stored(entry, tier, OptionalInt.of(position), waited);
        }

        public LayerStatistics statistics() {
            Map<Counter, Long> counted = new EnumMap<>(tier.counted());
            Optional<BucketTierStatistics> sent = bucket.map(BucketTier::statistics);
            sent.ifPresent(requests -> {
                counted.put(Counter.BUCKET_REQUESTS, requests.requests().total());
                counted.put(Counter.BUCKET_RETRIES, requests.retries());
                counted.put(Counter.BREAKER_OPENINGS, requests.breakerOpenings());
            });
            return new LayerStatistics(
                    name(),
                    counted,
                    bounds.failure(),
                    bucket.map(BucketTier::quiet).orElse(Duration.ZERO),
                    sent.map(requests -> Breaker.valueOf(requests.breaker().name())));
        }
    }
}
