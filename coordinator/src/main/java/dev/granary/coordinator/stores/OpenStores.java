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
 * Everything that outlives the process, opened: the tiers, and what this process keeps in the local directory beside its entries.
 *
 * @param local the local tier; one that holds nothing where the capacity is 0
 * @param layers the buckets, in the order in which they are asked
 * @param claims what keeps the processes of this machine from doing one thing twice; empty where nobody is to wait
 * @param session this process's presence in the local directory; empty where that cannot be written
 * @param quarantine entries not to be tried; empty where that cannot be written
 * @param totals the counters of all processes
 * @param clock tells the time for metadata
 */
public record OpenStores(
        CountingCache local,
        List<OpenLayer> layers,
        Optional<LocalClaims> claims,
        Optional<ProcessSession> session,
        Optional<RestoreQuarantine> quarantine,
        LifetimeStatistics totals,
        InstantSource clock) {
    /** Opens what {@code config} names. */
    public static OpenStores open(GranaryConfig config) throws ConfigException {
        return open(config, BucketTierFactory.open(config), InstantSource.system());
    }

    /** Opens the local tier that {@code config} names, over those buckets, one for each that is configured. */
    public static OpenStores open(GranaryConfig config, List<? extends PersistentCache> buckets, InstantSource clock) throws ConfigException {
        boolean isOff = config.capacityBytes() == 0;
        CountingCache local = new CountingCache(isOff ? new DisabledLocalTier() : LocalTierFactory.open(config, clock));
        List<OpenLayer> layers = new ArrayList<>();
        for (int i = 0; i < buckets.size(); i++) {
            layers.add(new OpenLayer(config.buckets().get(i), new CountingCache(buckets.get(i)), Optional.empty(), List.of()));
        }
        Optional<LocalClaims> claims =
                isOff || config.localWait().isZero() ? Optional.empty() : Optional.of(LocalClaims.open(config.directory()));
        OpenStores alone = new OpenStores(local, List.copyOf(layers), claims, Optional.empty(), Optional.empty(), new LifetimeStatistics(config.directory()), clock);
        if (isOff || !Files.isWritable(config.directory())) {
            return alone;
        }
        try {
            ProcessSession session = ProcessSession.begin(config.directory());
            try {
                return alone.with(session, config);
            } catch (IOException | RuntimeException e) {
                session.close();
                throw e;
            }
        } catch (IOException e) {
            LogOnce.warn("session", "The directory " + config.directory() + " cannot be written, so uploads do not survive this process: " + e);
            return alone;
        }
    }

    private OpenStores with(ProcessSession mine, GranaryConfig config) throws IOException {
        RestoreQuarantine marks = new RestoreQuarantine(config.directory(), mine, clock);
        List<OpenLayer> withOutboxes = new ArrayList<>();
        for (OpenLayer layer : layers) {
            Optional<UploadOutbox> box = layer.bucket().isWritable() ? Optional.of(new UploadOutbox(mine, layer.name())) : Optional.empty();
            withOutboxes.add(new OpenLayer(layer.bucket(), layer.tier(), box, new ArrayList<>()));
        }
        mine.adoptDead(dead -> {
            marks.inherit(dead);
            for (OpenLayer layer : withOutboxes) {
                if (layer.outbox().isPresent()) {
                    layer.outbox().get().inherit(dead, layer.inherited()::add);
                }
            }
        }, clock.instant());
        return new OpenStores(local, withOutboxes, claims, Optional.of(mine), Optional.of(marks), totals, clock);
    }

    /** Closes everything, and adds the process's counters to the totals. */
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
        session.ifPresent(ProcessSession::close);
    }
}
