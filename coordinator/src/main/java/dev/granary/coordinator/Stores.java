package dev.granary.coordinator;

import dev.granary.cache.Id;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.local.LocalConfig;
import dev.granary.local.LocalDirectoryException;
import dev.granary.local.LocalTier;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Everything that outlives the process, opened: the tiers, and what this process keeps in the local directory beside its entries.
 *
 * @param local the local tier
 * @param bucket the bucket tier; empty where none is configured
 * @param session this process's presence in the local directory; empty where that cannot be written
 * @param outbox what is to be uploaded; empty where nothing is, or cannot be written
 * @param quarantine entries not to be tried; empty where that cannot be written
 * @param inherited what ended processes left to be uploaded
 * @param totals the counters of all processes
 * @param clock tells the time for metadata
 */
record Stores(
        Tier local,
        Optional<Tier> bucket,
        Optional<Session> session,
        Optional<Outbox> outbox,
        Optional<Quarantine> quarantine,
        List<Id> inherited,
        Totals totals,
        InstantSource clock) {
    /** Opens what {@code config} names. */
    static Stores open(GranaryConfig config) throws ConfigException {
        InstantSource clock = InstantSource.system();
        Tier local = new Tier(Source.LOCAL, openLocal(config));
        Optional<Tier> bucket = Buckets.open(config).map(tier -> new Tier(Source.BUCKET, tier));
        Totals totals = new Totals(config.directory());
        List<Id> inherited = new ArrayList<>();
        if (!Files.isWritable(config.directory())) {
            return new Stores(local, bucket, Optional.empty(), Optional.empty(), Optional.empty(), inherited, totals, clock);
        }
        try {
            Session session = Session.begin(config.directory());
            Quarantine quarantine = new Quarantine(config.directory(), session, clock);
            Optional<Outbox> outbox = Optional.empty();
            if (config.bucket().isPresent()) {
                outbox = Optional.of(new Outbox(session, Buckets.name(config)));
            }
            Optional<Outbox> heir = outbox;
            session.adoptDead(dead -> {
                quarantine.inherit(dead);
                if (heir.isPresent()) {
                    inherited.addAll(heir.get().inherit(dead));
                }
            });
            return new Stores(local, bucket, Optional.of(session), outbox, Optional.of(quarantine), inherited, totals, clock);
        } catch (IOException e) {
            WarnOnce.warn("session", "The directory " + config.directory() + " cannot be written, so uploads do not survive this process: " + e);
            return new Stores(local, bucket, Optional.empty(), Optional.empty(), Optional.empty(), inherited, totals, clock);
        }
    }

    /** The tiers in the order in which a look-up asks. */
    List<Tier> tiers() {
        List<Tier> tiers = new ArrayList<>(List.of(local));
        bucket.ifPresent(tiers::add);
        return tiers;
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
        bucket.ifPresent(tier -> tier.cache().close());
        local.cache().close();
        session.ifPresent(Session::close);
    }

    static LocalTier openLocal(GranaryConfig config) throws ConfigException {
        Path directory = config.directory();
        try {
            return LocalTier.open(LocalConfig.builder(directory).capacityBytes(config.capacityBytes()).build());
        } catch (LocalDirectoryException e) {
            throw new ConfigException(String.valueOf(e.getMessage()));
        }
    }
}
