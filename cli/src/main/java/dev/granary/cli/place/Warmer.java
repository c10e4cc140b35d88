package dev.granary.cli.place;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Sha256;
import dev.granary.cache.support.Warnings;
import dev.granary.cli.output.SilenceMonitor;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.local.EntryFiles;
import dev.granary.local.LocalTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.pack.warm.BulkEntryReader;
import dev.granary.s3.pack.warm.BulkReadPlan;

import java.io.IOException;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ObjLongConsumer;

/**
 * Warmer, which fills the local tier of this machine from a bucket before it is needed, within its
 * capacity. Not thread-safe.
 */
public final class Warmer implements AutoCloseable {
    private static final long BLOCK_BYTES = 4096; // at most what a file leaves of its last block

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

    /**
     * Result of warming from one bucket for one target.
     *
     * @param plan the plan, which wants what the local tier lacked
     * @param entries the copied entries
     * @param requests the number of requests sent
     * @param displaced the number of entries that were evicted meanwhile to stay below the capacity
     */
    public record Report(BulkReadPlan plan, EntryCopier entries, long requests, long displaced) {
        /** Returns the number of entries that the local tier had already. */
        public long present() {
            return plan.present() + entries.present();
        }

        /** Returns true if no entry of the bucket was skipped and none remained unlisted. */
        public boolean isWhole() {
            return entries.failed() == 0 && plan.unlisted().isEmpty();
        }
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
        return new Warmer(config, TierFactory.local(config), unpacked);
    }

    /**
     * Fetches, verifies and stores the entries of a target that a bucket has and the local tier
     * does not.
     *
     * @param namespace the target, as {@link dev.granary.cache.Target#path()} gives it
     * @param progress receives the copied entries and the bytes of all, on several threads
     * @throws ConfigException if the bucket cannot be opened as configured
     * @throws IOException if the contents of the bucket are unknown
     * @throws InterruptedException if the current thread is interrupted
     */
    public Report from(BucketConfig layer, String namespace, ObjLongConsumer<EntryCopier> progress)
            throws ConfigException, IOException, InterruptedException {
        try (BulkBucket bucket = TierFactory.bulk(layer, TierFactory.directory(config))) {
            waits.watch(layer.name(), bucket.traffic()::quiet);
            long evicted = local.statistics().evictions();
            AtomicLong room = new AtomicLong(local.capacityBytes());
            Set<Sha256> present = contents(namespace, room);
            BulkEntryReader reader = bucket.bulkReader(namespace);
            BulkReadPlan plan = reader.plan(unpacked, id -> !present.contains(id));
            long bytes = plan.bytes();
            EntryFiles files = EntryFiles.in(local.directory());
            EntryCopier copier = new EntryCopier(
                    (entry, whenDone) -> {
                        // the tier reads all of the directory for each 1/16 of its capacity
                        boolean fits = room.addAndGet(-bytesOnDisk(entry)) >= 0;
                        whenDone.accept(fits ? files.store(entry) : local.store(entry));
                    },
                    _ -> false,
                    Runtime.getRuntime().availableProcessors(),
                    copied -> progress.accept(copied, bytes));
            copier.skipLost(plan);
            reader.run(plan, copier);
            if (room.get() < 0) {
                local.enforceCapacity(); // the count below needs the end of each sweep
            }
            long displaced = local.statistics().evictions() - evicted;
            return new Report(plan, copier, bucket.requests().total(), displaced);
        }
    }

    /** Returns the bytes of a file with the entry, and at most two blocks more. */
    private static long bytesOnDisk(Entry entry) {
        return entry.binaries().byteSize() + entry.id().length() + 2 * BLOCK_BYTES;
    }

    /**
     * Returns the hashes of a target in the local tier, and subtracts the size of all entries from
     * {@code room}. What cannot be listed is fetched again.
     */
    private Set<Sha256> contents(String namespace, AtomicLong room) {
        Set<Sha256> hashes = new HashSet<>();
        try {
            local.list((EntryCatalog.Listed listed) -> {
                room.addAndGet(-listed.bytes() - BLOCK_BYTES);
                if (listed.namespace().equals(namespace)) {
                    hashes.add(listed.hash());
                }
            });
        } catch (IOException e) {
            Warnings.warn("warm", "The local directory cannot be listed in full: " + e);
        }
        return hashes;
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
