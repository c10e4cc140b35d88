package dev.granary.coordinator;

import dev.granary.cache.PersistentCache;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.local.LocalClaims;
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
record Stores(
        Tier local,
        List<Layer> layers,
        Optional<LocalClaims> claims,
        Optional<Session> session,
        Optional<Quarantine> quarantine,
        Totals totals,
        InstantSource clock) {
    /** Opens what {@code config} names. */
    static Stores open(GranaryConfig config) throws ConfigException {
        return open(config, Buckets.open(config), InstantSource.system());
    }

    /** Opens the local tier that {@code config} names, over those buckets, one for each that is configured. */
    static Stores open(GranaryConfig config, List<? extends PersistentCache> buckets, InstantSource clock) throws ConfigException {
        boolean isOff = config.capacityBytes() == 0;
        Tier local = new Tier(isOff ? new LocalTierOff() : LocalTiers.open(config, clock));
        List<Layer> layers = new ArrayList<>();
        for (int i = 0; i < buckets.size(); i++) {
            layers.add(new Layer(config.buckets().get(i), new Tier(buckets.get(i)), Optional.empty(), List.of()));
        }
        Optional<LocalClaims> claims =
                isOff || config.localWait().isZero() ? Optional.empty() : Optional.of(LocalClaims.open(config.directory()));
        Stores alone = new Stores(local, List.copyOf(layers), claims, Optional.empty(), Optional.empty(), new Totals(config.directory()), clock);
        if (isOff || !Files.isWritable(config.directory())) {
            return alone;
        }
        try {
            Session session = Session.begin(config.directory());
            try {
                return alone.with(session, config);
            } catch (IOException | RuntimeException e) {
                session.close();
                throw e;
            }
        } catch (IOException e) {
            WarnOnce.warn("session", "The directory " + config.directory() + " cannot be written, so uploads do not survive this process: " + e);
            return alone;
        }
    }

    private Stores with(Session mine, GranaryConfig config) throws IOException {
        Quarantine marks = new Quarantine(config.directory(), mine, clock);
        List<Layer> withOutboxes = new ArrayList<>();
        for (Layer layer : layers) {
            Optional<Outbox> box = layer.bucket().isWritable() ? Optional.of(new Outbox(mine, layer.name())) : Optional.empty();
            withOutboxes.add(new Layer(layer.bucket(), layer.tier(), box, new ArrayList<>()));
        }
        mine.adoptDead(dead -> {
            marks.inherit(dead);
            for (Layer layer : withOutboxes) {
                if (layer.outbox().isPresent()) {
                    layer.outbox().get().inherit(dead, layer.inherited()::add);
                }
            }
        }, clock.instant());
        return new Stores(local, withOutboxes, claims, Optional.of(mine), Optional.of(marks), totals, clock);
    }

    /** Closes everything, and adds the process's counters to the totals. */
    void close(GranaryStatistics statistics) {
        if (session.isPresent()) {
            try {
                totals.add(statistics);
            } catch (IOException e) {
                WarnOnce.warn("totals", "The statistics could not be written: " + e);
            }
        }
        layers.forEach(layer -> layer.tier().cache().close());
        claims.ifPresent(LocalClaims::close);
        local.cache().close();
        session.ifPresent(Session::close);
    }
}
