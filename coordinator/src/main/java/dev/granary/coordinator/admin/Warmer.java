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
import dev.granary.s3.pack.warm.BulkEntryReader;
import dev.granary.s3.pack.warm.BulkReadPlan;

import java.io.IOException;
import java.util.HashSet;
import java.util.Set;

/**
 * Warmer, which fills the local tier of this machine from a bucket before it is needed. Not
 * thread-safe.
 */
public final class Warmer implements AutoCloseable {
    private final GranaryConfig config;
    private final LocalTier local;
    private final BulkEntryReader.UnpackedEntries unpacked;
    private final SilenceMonitor waits = new SilenceMonitor();

    private Warmer(
            GranaryConfig config, LocalTier local, BulkEntryReader.UnpackedEntries unpacked) {
        this.config = config;
        this.local = local;
        this.unpacked = unpacked;
    }

    /** Listener for progress, called on several threads. */
    @FunctionalInterface
    public interface Progress {
        /** Reports that {@code bytes} of {@code of} bytes were received. */
        void at(long bytes, long of);
    }

    /** Outcome of warming from one bucket for one target. */
    public sealed interface Outcome {
        /**
         * Warming was done, as described by the report.
         *
         * @param report the report
         */
        record Done(WarmReport report) implements Outcome {}

        /**
         * The contents of the bucket are unknown.
         *
         * @param cause the cause, for people
         */
        record Unavailable(String cause) implements Outcome {}
    }

    /**
     * Opens the local tier.
     *
     * @param unpacked whether unpacked entries are fetched, too
     * @throws ConfigException if its directory cannot be used, or the configuration has no local
     *     tier
     */
    public static Warmer open(GranaryConfig config, BulkEntryReader.UnpackedEntries unpacked)
            throws ConfigException {
        if (config.capacityBytes() == 0) {
            throw new ConfigException(
                    "The capacity is 0, so there is no local tier to fill; set --capacity or"
                            + " GRANARY_CAPACITY.");
        }
        return new Warmer(config, LocalTierFactory.open(config), unpacked);
    }

    /**
     * Fetches, verifies and installs the entries of a target that a bucket has and the local tier
     * does not.
     *
     * @param namespace the target, as {@link dev.granary.cache.Target#path()} gives it
     * @throws ConfigException if the bucket cannot be opened as configured
     * @throws InterruptedException if the current thread is interrupted
     */
    public Outcome from(BucketConfig layer, String namespace, Progress progress)
            throws ConfigException, InterruptedException {
        try (BulkBucket bucket =
                BucketTierFactory.openBulk(layer, BucketTierFactory.directory(config))) {
            waits.watch(layer.name(), bucket.traffic()::quiet);
            return new Outcome.Done(from(bucket, namespace, progress));
        } catch (IOException e) {
            return new Outcome.Unavailable(String.valueOf(e.getMessage()));
        }
    }

    private WarmReport from(BulkBucket bucket, String namespace, Progress progress)
            throws IOException, InterruptedException {
        LocalContents before = localContents(namespace);
        Set<Sha256> present = before.hashes();
        BulkEntryReader reader = bucket.bulkReader(namespace);
        BulkReadPlan plan = reader.plan(unpacked, id -> !present.contains(id));
        long bytes = plan.bytes();
        EntryInstaller installer =
                new EntryInstaller(local, received -> progress.at(received, bytes));
        plan.lost()
                .forEach(pack -> installer.skipped(
                        pack.entries(), pack.bytes(), "a pack cannot be read: " + pack.cause()));
        reader.run(plan, installer);
        WarmReport report = installer.report(plan, bucket.requests().total());
        boolean mayHaveLeft = before.bytes() + report.installedBytes() > config.capacityBytes();
        if (!mayHaveLeft) {
            return report;
        }
        local.enforceCapacity(); // the count below needs the end of each sweep
        long after = localContents(namespace).entries();
        return report.displacing(Math.max(0, before.entries() + report.installed() - after));
    }

    /** Contents of the local tier: the hashes of one target, and the size of all entries. */
    private record LocalContents(Set<Sha256> hashes, long entries, long bytes) {}

    /**
     * Returns the contents of the local tier; empty if it cannot be listed, so that everything is
     * fetched.
     */
    private LocalContents localContents(String namespace) {
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
            LogOnce.warn(
                    "warm", "The local directory cannot be listed, so everything is fetched: " + e);
        }
        return new LocalContents(hashes, all[0], all[1]);
    }

    /** Returns the monitor of the buckets that this warmer may wait for. */
    public SilenceMonitor waits() {
        return waits;
    }

    @Override
    public void close() {
        local.close();
    }
}
