package dev.granary.coordinator.admin;

import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Sha256;
import dev.granary.cache.support.LogOnce;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.stores.BucketTierFactory;
import dev.granary.coordinator.stores.LocalTierFactory;
import dev.granary.coordinator.stores.SilenceMonitor;
import dev.granary.local.LocalTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.pack.PackManifest;
import dev.granary.s3.pack.PackManifestLog;
import dev.granary.s3.pack.warm.BulkEntryReader;
import dev.granary.s3.pack.warm.BulkReadPlan;
import java.io.IOException;
import java.util.HashSet;
import java.util.Set;

/** Fills the local tier of this machine from the buckets before it is needed. Not thread-safe. */
public final class Warmer implements AutoCloseable {
    private final GranaryConfig config;
    private final LocalTier local;
    private final BulkEntryReader.UnpackedEntries alone;
    private final SilenceMonitor waits = new SilenceMonitor();

    private Warmer(GranaryConfig config, LocalTier local, BulkEntryReader.UnpackedEntries alone) {
        this.config = config;
        this.local = local;
        this.alone = alone;
    }

    /** Told how far it is. Called by several threads. */
    @FunctionalInterface
    public interface Progress {
        /** So many bytes of so many have come. */
        void at(long bytes, long of);
    }

    /** What became of warming from one bucket for one target. */
    public sealed interface Outcome {
        /**
         * It was done, as far as the report says.
         *
         * @param report what was done
         */
        record Done(WarmReport report) implements Outcome {}

        /**
         * The bucket did not say what it has.
         *
         * @param cause why, for people
         */
        record Unavailable(String cause) implements Outcome {}
    }

    /**
     * Opens the local tier.
     *
     * @param alone whether entries outside of packs are fetched, too
     * @throws ConfigException if its directory cannot be used, or the configuration has no local tier
     */
    public static Warmer open(GranaryConfig config, BulkEntryReader.UnpackedEntries alone) throws ConfigException {
        if (config.capacityBytes() == 0) {
            throw new ConfigException("The capacity is 0, so there is nothing to be filled; set --capacity or GRANARY_CAPACITY.");
        }
        return new Warmer(config, LocalTierFactory.open(config), alone);
    }

    /**
     * Fetches what a bucket has for a target and the local tier has not, and installs it, verified.
     *
     * @param namespace the target, as {@link dev.granary.cache.Target#path()} gives it
     * @throws ConfigException if the bucket cannot be opened as configured
     * @throws InterruptedException if the caller was interrupted
     */
    public Outcome from(BucketConfig layer, String namespace, Progress progress) throws ConfigException, InterruptedException {
        try (BulkBucket bucket = BucketTierFactory.packed(layer, BucketTierFactory.directory(config))) {
            waits.watch(layer.name(), bucket.traffic()::quiet);
            return switch (bucket.manifests(namespace).newest(PackManifest.NONE)) {
                case PackManifestLog.Newest.Unavailable lost -> new Outcome.Unavailable(lost.cause());
                case PackManifestLog.Newest.Found found -> new Outcome.Done(from(bucket, namespace, found.manifest(), progress));
            };
        }
    }

    private WarmReport from(BulkBucket bucket, String namespace, PackManifest manifest, Progress progress) throws InterruptedException {
        Held before = held(namespace);
        Set<Sha256> here = before.hashes();
        BulkEntryReader warming = bucket.bulkReader(namespace);
        BulkReadPlan plan = warming.plan(manifest, alone, id -> !here.contains(id));
        long bytes = plan.bytes();
        EntryInstaller installing = new EntryInstaller(local, received -> progress.at(received, bytes));
        plan.lost().forEach(pack -> installing.skipped(pack.entries(), pack.bytes(), "a pack cannot be read: " + pack.cause()));
        warming.run(plan, installing);
        WarmReport report = installing.report(plan, bucket.requests().total());
        boolean mayHaveLeft = before.bytes() + report.installedBytes() > config.capacityBytes();
        return mayHaveLeft ? report.displacing(Math.max(0, before.entries() + report.installed() - held(namespace).entries())) : report;
    }

    /** What the local tier has: the hashes of one target, and how much of all. */
    private record Held(Set<Sha256> hashes, long entries, long bytes) {}

    /** One that cannot be listed has nothing: then all is fetched. */
    private Held held(String namespace) {
        Set<Sha256> hashes = new HashSet<>();
        long[] all = {0, 0};
        try {
            local.list((EntryCatalog.Listed listed) -> {
                all[0]++;
                all[1] += listed.bytes();
                if (listed.namespace().equals(namespace)) {
                    hashes.add(listed.hash());
                }
            });
        } catch (IOException e) {
            LogOnce.warn("warm", "The local directory cannot be listed, so everything is fetched: " + e);
        }
        return new Held(hashes, all[0], all[1]);
    }

    /** The buckets that this may be waiting for. */
    public SilenceMonitor waits() {
        return waits;
    }

    @Override
    public void close() {
        local.close();
    }
}
