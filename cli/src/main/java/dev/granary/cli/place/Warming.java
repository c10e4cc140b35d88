package dev.granary.cli.place;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Sha256;
import dev.granary.cache.support.Warnings;
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
 * Result of filling the local tier from a bucket, for one target and before it is needed.
 *
 * @param plan the plan, which wants what the local tier lacked
 * @param entries the copied entries
 * @param requests the number of requests sent
 * @param displaced the number of entries that were evicted meanwhile to stay below the capacity
 */
public record Warming(BulkReadPlan plan, EntryCopier entries, long requests, long displaced) {
    private static final long BLOCK_BYTES = 4096; // at most what a file leaves of its last block

    /** Returns the number of entries that the local tier had already. */
    public long present() {
        return plan.present() + entries.present();
    }

    /** Returns true if no entry of the bucket was skipped and none remained unlisted. */
    public boolean isWhole() {
        return entries.failed() == 0 && plan.unlisted().isEmpty();
    }

    /**
     * Fetches, verifies and stores the entries of a target that a bucket has and the local tier
     * does not, within its capacity.
     *
     * @param namespace the target, as {@link dev.granary.cache.Target#path()} gives it
     * @param unpacked whether unpacked entries are fetched, too
     * @param progress receives the copied entries and the bytes of all, on several threads
     * @throws IOException if the contents of the bucket are unknown
     * @throws InterruptedException if the current thread is interrupted
     */
    public static Warming run(
            BulkBucket bucket,
            LocalTier local,
            String namespace,
            BulkEntryReader.UnpackedEntries unpacked,
            ObjLongConsumer<EntryCopier> progress)
            throws IOException, InterruptedException {
        long evicted = local.statistics().evictions();
        AtomicLong room = new AtomicLong(local.capacityBytes());
        Set<Sha256> present = contents(local, namespace, room);
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
        return new Warming(plan, copier, bucket.requests().total(), displaced);
    }

    /** Returns the bytes of a file with the entry, and at most two blocks more. */
    private static long bytesOnDisk(Entry entry) {
        return entry.binaries().byteSize() + entry.id().length() + 2 * BLOCK_BYTES;
    }

    /**
     * Returns the hashes of a target in the local tier, and subtracts the size of all entries from
     * {@code room}. What cannot be listed is fetched again.
     */
    private static Set<Sha256> contents(LocalTier local, String namespace, AtomicLong room) {
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
}
