package dev.granary.coordinator.stores;

import dev.granary.cache.PersistentCache;
import dev.granary.cache.support.LogOnce;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.session.ProcessSession;
import dev.granary.coordinator.session.RestoreQuarantine;
import dev.granary.coordinator.session.UploadOutbox;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.coordinator.statistics.LifetimeStatistics;
import dev.granary.local.claim.LocalClaims;

import java.io.IOException;
import java.nio.file.Files;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The open tiers, and the state of this process in the local directory.
 *
 * @param local the local tier; one that stores nothing if the capacity is 0
 * @param layers the buckets, in lookup order
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
    /** Opens the tiers that {@code config} names. */
    public static OpenStores open(GranaryConfig config) throws ConfigException {
        return open(config, BucketTierFactory.open(config), InstantSource.system());
    }

    /**
     * Opens the local tier that {@code config} names, with the given bucket tiers, one for each
     * configured bucket.
     */
    public static OpenStores open(
            GranaryConfig config, List<? extends PersistentCache> buckets, InstantSource clock)
            throws ConfigException {
        boolean isOff = config.capacityBytes() == 0;
        CountingCache local = new CountingCache(
                isOff ? new DisabledLocalTier() : LocalTierFactory.open(config, clock));
        List<OpenLayer> layers = new ArrayList<>();
        for (int i = 0; i < buckets.size(); i++) {
            layers.add(new OpenLayer(
                    config.buckets().get(i),
                    new CountingCache(buckets.get(i)),
                    Optional.empty(),
                    List.of()));
        }
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
                return withoutSession.withSession(session, config);
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

    private OpenStores withSession(ProcessSession session, GranaryConfig config)
            throws IOException {
        RestoreQuarantine quarantine = new RestoreQuarantine(config.directory(), session, clock);
        List<OpenLayer> withOutboxes = new ArrayList<>();
        for (OpenLayer layer : layers) {
            Optional<UploadOutbox> outbox = layer.bucket().isWritable()
                    ? Optional.of(new UploadOutbox(session, layer.name()))
                    : Optional.empty();
            withOutboxes.add(
                    new OpenLayer(layer.bucket(), layer.tier(), outbox, new ArrayList<>()));
        }
        session.adoptDead(
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

    /** Closes all tiers, and adds the counters of the process to the totals. */
    public void close(GranaryStatistics statistics) {
        if (session.isPresent()) {
            try {
                totals.add(statistics);
            } catch (IOException e) {
                LogOnce.warn("totals", "The statistics could not be written: " + e);
            }
        }
        layers.forEach(layer -> layer.tier().cache().close());
        claims.ifPresent(LocalClaims::close);
        local.cache().close();
        quarantine.ifPresent(RestoreQuarantine::close);
        session.ifPresent(ProcessSession::close);
    }
}
