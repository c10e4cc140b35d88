package dev.granary.coordinator.stores;

import dev.granary.cache.Backend;
import dev.granary.cache.EvictionListener;
import dev.granary.cache.Id;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.Target;
import dev.granary.cache.support.LogOnce;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.dispatch.EventDispatcher;
import dev.granary.coordinator.session.ProcessSession;
import dev.granary.coordinator.session.RestoreQuarantine;
import dev.granary.coordinator.session.UploadOutbox;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.coordinator.statistics.LifetimeStatistics;
import dev.granary.local.LocalClaims;

import java.io.IOException;
import java.nio.file.Files;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Supplier;

/**
 * The open tiers, and the state of this process in the local directory.
 *
 * @param local the local tier; one that stores nothing if the capacity is 0
 * @param layers the buckets and plugged caches, in lookup order
 * @param claims the claims of this machine; empty if lookups are not to wait for other processes
 * @param session the session of this process; empty if the local directory cannot be written
 * @param quarantine the quarantine of entries; empty if the local directory cannot be written
 * @param totals the counters of all processes
 * @param clock the clock for metadata
 */
public record OpenStores(
        CountingCache local,
        List<OpenLayer> layers,
        Optional<LocalClaims> claims,
        Optional<ProcessSession> session,
        Optional<RestoreQuarantine> quarantine,
        LifetimeStatistics totals,
        InstantSource clock) {
    /**
     * The suffix of the names of outboxes whose entries are in a plugged cache. A process with the
     * directory's own local tier has none of these entries, and would drop the uploads. No name of
     * a layer contains a line break.
     */
    private static final String OF_PLUGGED_LOCAL = "\nof a plugged local cache";

    /** The id of no entry: a lookup of it opens the connection. */
    public static final Id CONNECT_ID = Id.builder(
                    new Target(Backend.OPENCL, "granary", "none", "none"))
            .field("kind", "connect")
            .build();

    /** Opens the tiers that {@code config} names. */
    public static OpenStores open(GranaryConfig config) throws ConfigException {
        return open(config, BucketTierFactory.open(config), InstantSource.system());
    }

    /** Opens a layer for each bucket that {@code config} names, in order. No request is sent. */
    public static List<OpenLayer> layers(GranaryConfig config) throws ConfigException {
        return layers(config, BucketTierFactory.open(config));
    }

    private static List<OpenLayer> layers(
            GranaryConfig config, List<? extends PersistentCache> buckets) {
        List<OpenLayer> layers = new ArrayList<>();
        for (int i = 0; i < buckets.size(); i++) {
            layers.add(OpenLayer.of(config.buckets().get(i), buckets.get(i)));
        }
        return layers;
    }

    /**
     * Opens the local tier that {@code config} names, with the given bucket tiers, one for each
     * configured bucket.
     */
    public static OpenStores open(
            GranaryConfig config, List<? extends PersistentCache> buckets, InstantSource clock)
            throws ConfigException {
        return open(config, Optional.empty(), layers(config, buckets), clock);
    }

    /**
     * Opens the local tier beside the given layers. The directory has the claims, the quarantine,
     * the outboxes and the totals with any local tier, unless the capacity is 0. If this fails, the
     * layers are closed.
     *
     * @param plugged the local tier; empty: that of {@code config}
     */
    public static OpenStores open(
            GranaryConfig config,
            Optional<CheckedCache> plugged,
            List<OpenLayer> layers,
            InstantSource clock)
            throws ConfigException {
        try {
            CountingCache local = new CountingCache(openLocal(config, plugged, clock));
            try {
                return over(config, local, plugged.isPresent(), layers, clock);
            } catch (RuntimeException | Error e) {
                local.cache().close();
                throw e;
            }
        } catch (ConfigException | RuntimeException | Error e) {
            layers.forEach(layer -> layer.tier().cache().close());
            throw e;
        }
    }

    private static OpenStores over(
            GranaryConfig config,
            CountingCache local,
            boolean isPlugged,
            List<OpenLayer> layers,
            InstantSource clock) {
        boolean isOff = config.capacityBytes() == 0;
        Optional<LocalClaims> claims = isOff || config.localWait().isZero()
                ? Optional.empty()
                : Optional.of(LocalClaims.open(config.directory()));
        OpenStores withoutSession = new OpenStores(
                local,
                List.copyOf(layers),
                claims,
                Optional.empty(),
                Optional.empty(),
                new LifetimeStatistics(config.directory()),
                clock);
        if (isOff || !Files.isWritable(config.directory())) {
            return withoutSession;
        }
        try {
            ProcessSession session = ProcessSession.begin(config.directory());
            try {
                return withoutSession.withSession(
                        session, config, isPlugged ? OF_PLUGGED_LOCAL : "");
            } catch (IOException | RuntimeException e) {
                session.close();
                throw e;
            }
        } catch (IOException e) {
            LogOnce.warn(
                    "session",
                    "The directory " + config.directory()
                            + " cannot be written, so uploads do not survive this process: " + e);
            return withoutSession;
        }
    }

    /** Returns the same stores with other receivers of their events. */
    public OpenStores withEvents(EventDispatcher events) {
        return new OpenStores(
                local.withEvents(events),
                layers.stream().map(layer -> layer.withEvents(events)).toList(),
                claims,
                session,
                quarantine,
                totals,
                clock);
    }

    /** Opens a connection to each layer, and logs failures. */
    public void connect() {
        // In parallel: a silent bucket must not delay the others.
        layers.parallelStream().forEach(layer -> {
            try {
                layer.tier().cache().load(CONNECT_ID);
            } catch (Throwable e) { // left to the lookups
                LogOnce.warn(
                        "connect", "The first connection to " + layer.name() + " failed: " + e);
            }
        });
    }

    /** Adds the buckets to a monitor of silent connections. */
    public void watchTraffic(SilenceMonitor waits) {
        layers.forEach(layer -> layer.bucketTier()
                .ifPresent(bucket -> waits.watch(layer.name(), bucket.traffic()::quiet)));
    }

    /** Sets the listener of evictions from the directory, if this process evicts there. */
    public void setEvictionListener(EvictionListener listener) {
        if (local.cache() instanceof ResizableLocalTier tier) {
            tier.setEvictionListener(listener);
        }
    }

    /** Returns the capacity of the local tier in bytes; empty if it is plugged. */
    public OptionalLong localCapacity() {
        return switch (local.cache()) {
            case ResizableLocalTier tier -> OptionalLong.of(tier.capacity());
            case DisabledLocalTier _ -> OptionalLong.of(0);
            default -> OptionalLong.empty();
        };
    }

    /**
     * Changes the capacity of the local tier. The capacity 0 switches it off for this process, and
     * evicts nothing.
     *
     * @throws IllegalArgumentException if {@code bytes} is negative
     * @throws IllegalStateException if the stores were opened with the capacity 0
     * @throws UnsupportedOperationException if the local tier is plugged
     */
    public void setLocalCapacity(long bytes) {
        switch (local.cache()) {
            case ResizableLocalTier tier -> tier.setCapacity(bytes);
            case DisabledLocalTier _ -> {
                if (bytes != 0) {
                    throw new IllegalStateException("There is no local tier, since this cache was"
                            + " opened with the capacity 0; open another one with a capacity");
                }
            }
            default ->
                throw new UnsupportedOperationException("The local tier is a plugged cache; change"
                        + " its capacity by its own methods");
        }
    }

    private static PersistentCache openLocal(
            GranaryConfig config, Optional<CheckedCache> plugged, InstantSource clock)
            throws ConfigException {
        boolean isOff = config.capacityBytes() == 0;
        if (plugged.isEmpty()) {
            return isOff
                    ? new DisabledLocalTier()
                    : new ResizableLocalTier(LocalTierFactory.open(config, clock));
        }
        if (!isOff) {
            LocalTierFactory.prepareDirectory(config);
        }
        return plugged.get();
    }

    private OpenStores withSession(
            ProcessSession session, GranaryConfig config, String outboxSuffix) throws IOException {
        RestoreQuarantine quarantine = new RestoreQuarantine(config.directory(), session, clock);
        List<OpenLayer> withOutboxes = new ArrayList<>();
        for (OpenLayer layer : layers) {
            Optional<UploadOutbox> outbox = layer.isWritable()
                    ? Optional.of(new UploadOutbox(session, layer.name() + outboxSuffix))
                    : Optional.empty();
            withOutboxes.add(new OpenLayer(
                    layer.name(), layer.isWritable(), layer.tier(), outbox, new ArrayList<>()));
        }
        session.inheritDead(
                dead -> {
                    quarantine.inherit(dead);
                    for (OpenLayer layer : withOutboxes) {
                        if (layer.outbox().isPresent()) {
                            layer.outbox().get().inherit(dead, layer.inherited()::add);
                        }
                    }
                },
                clock.instant());
        return new OpenStores(
                local,
                withOutboxes,
                claims,
                Optional.of(session),
                Optional.of(quarantine),
                totals,
                clock);
    }

    /**
     * Closes all tiers, and adds the counters of the process to the totals.
     *
     * @param statistics returns the counters; called after the local tier has done its last sweep
     */
    public void close(Supplier<GranaryStatistics> statistics) {
        layers.forEach(layer -> layer.tier().cache().close());
        claims.ifPresent(LocalClaims::close);
        local.cache().close();
        if (session.isPresent()) {
            try {
                totals.add(statistics.get());
            } catch (IOException e) {
                LogOnce.warn("totals", "The statistics could not be written: " + e);
            }
        }
        quarantine.ifPresent(RestoreQuarantine::close);
        session.ifPresent(ProcessSession::close);
    }
}
