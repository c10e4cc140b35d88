package dev.granary.coordinator;

import dev.granary.cache.Id;
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
 * @param bucket the bucket tier; empty where none is configured
 * @param claims what keeps the processes of this machine from doing one thing twice; empty where nobody is to wait
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
        Optional<LocalClaims> claims,
        Optional<Session> session,
        Optional<Outbox> outbox,
        Optional<Quarantine> quarantine,
        List<Id> inherited,
        Totals totals,
        InstantSource clock) {
    /** Opens what {@code config} names. */
    static Stores open(GranaryConfig config) throws ConfigException {
        return open(config, Buckets.open(config), InstantSource.system());
    }

    /** Opens the local tier that {@code config} names, over that bucket; what is to be uploaded is noted under the configured bucket's name. */
    static Stores open(GranaryConfig config, Optional<? extends PersistentCache> bucketTier, InstantSource clock) throws ConfigException {
        boolean isOff = config.capacityBytes() == 0;
        Tier local = new Tier(Source.LOCAL, isOff ? new LocalTierOff() : LocalTiers.open(config, clock));
        Optional<Tier> bucket = bucketTier.map(tier -> new Tier(Source.BUCKET, tier));
        Optional<LocalClaims> claims =
                config.localWait().isZero() ? Optional.empty() : Optional.of(LocalClaims.open(config.directory()));
        Stores alone = new Stores(local, bucket, claims, Optional.empty(), Optional.empty(), Optional.empty(), List.of(),
                new Totals(config.directory()), clock);
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
        Optional<Outbox> box = bucket.isPresent() ? Optional.of(new Outbox(mine, Buckets.name(config))) : Optional.empty();
        List<Id> found = new ArrayList<>();
        mine.adoptDead(dead -> {
            marks.inherit(dead);
            if (box.isPresent()) {
                box.get().inherit(dead, found::add);
            }
        }, clock.instant());
        return new Stores(local, bucket, claims, Optional.of(mine), box, Optional.of(marks), found, totals, clock);
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
        claims.ifPresent(LocalClaims::close);
        local.cache().close();
        session.ifPresent(Session::close);
    }
}
