package dev.granary.cli.entry;

import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Sha256;
import dev.granary.cache.support.Warnings;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.local.EntryFiles;
import dev.granary.local.LocalTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.pack.warm.BulkEntryReader;
import dev.granary.s3.pack.warm.BulkReadPlan;

import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ObjLongConsumer;

/**
 * Result of filling the local tier from a layer, for one target and before it is needed.
 *
 * @param wanted the number of entries of the layer that the local tier lacked
 * @param present the number of entries that it had already
 * @param unpacked how many of the wanted ones are unpacked in a bucket
 * @param unlisted the cause if the unpacked entries could not be listed, else empty
 * @param requests the number of requests sent
 * @param displaced the number of entries that were evicted meanwhile to stay below the capacity
 */
public record Warming(
        EntryCopier entries,
        long wanted,
        long present,
        long unpacked,
        Optional<String> unlisted,
        long requests,
        long displaced) {
    private static final long BLOCK_BYTES = 4096; // at most what a file leaves of its last block

    /** Returns true if no entry of the layer was skipped and none remained unlisted. */
    public boolean isWhole() {
        return entries.failed.sum() == 0 && unlisted.isEmpty();
    }

    /**
     * Fetches, verifies and stores the entries of a target that a bucket has and the local tier
     * does not, within its capacity.
     *
     * @param namespace the target, as {@link dev.granary.cache.Target#path()} gives it
     * @param unpacked whether unpacked entries are fetched, too
     * @param progress receives the copied entries and the bytes of all, on several threads
     * @throws IOException if the contents of the bucket are unknown
     */
    public static Warming run(
            BulkBucket bucket,
            LocalTier local,
            String namespace,
            BulkEntryReader.UnpackedEntries unpacked,
            ObjLongConsumer<EntryCopier> progress)
            throws IOException, InterruptedException {
        long evicted = local.evictions();
        AtomicLong room = new AtomicLong(local.capacityBytes());
        Set<Sha256> present = contents(local, namespace, room);
        BulkEntryReader reader = bucket.bulkReader(namespace);
        BulkReadPlan plan = reader.plan(unpacked, id -> !present.contains(id));
        EntryCopier copier = copier(local, room, plan.bytes(), progress);
        copier.skipLost(plan);
        reader.run(plan, copier);
        return new Warming(
                copier,
                plan.entries(),
                plan.present() + copier.present.sum(),
                plan.unpackedEntries(),
                plan.unlisted(),
                bucket.statistics().requests().total(),
                displaced(local, room, evicted));
    }

    /** Copies the entries of a target from a shared directory; see the other method. */
    public static Warming run(
            BucketConfig.Directory shared,
            LocalTier local,
            String namespace,
            ObjLongConsumer<EntryCopier> progress)
            throws IOException, InterruptedException {
        long evicted = local.evictions();
        AtomicLong room = new AtomicLong(local.capacityBytes());
        Set<Sha256> present = contents(local, namespace, room);
        DirectoryPlace place = Place.of(shared);
        List<EntryCatalog.Listed> all = Place.entries(place.catalog).stream()
                .filter(entry -> entry.namespace().equals(namespace))
                .toList();
        List<EntryCatalog.Listed> wanted =
                all.stream().filter(entry -> !present.contains(entry.hash())).toList();
        EntryCopier copier = copier(local, room, Place.bytes(wanted), progress);
        place.read(wanted, copier);
        return new Warming(
                copier,
                wanted.size(),
                (long) all.size() - wanted.size() + copier.present.sum(),
                0,
                Optional.empty(),
                0,
                displaced(local, room, evicted));
    }

    /**
     * Returns a copier into the local tier.
     *
     * @param room the free bytes of the capacity, less those of each copied entry
     * @param bytes the bytes of all entries, for {@code progress}
     */
    private static EntryCopier copier(
            LocalTier local, AtomicLong room, long bytes, ObjLongConsumer<EntryCopier> progress) {
        EntryFiles files = EntryFiles.in(local.directory());
        return new EntryCopier(
                (entry, whenDone) -> {
                    // the tier reads all of the directory for each 1/16 of its capacity
                    long bytesOnDisk =
                            entry.binaries().byteSize() + entry.id().length() + 2 * BLOCK_BYTES;
                    boolean fits = room.addAndGet(-bytesOnDisk) >= 0;
                    whenDone.accept(fits ? files.store(entry) : local.store(entry));
                },
                _ -> false,
                Runtime.getRuntime().availableProcessors(),
                copied -> progress.accept(copied, bytes));
    }

    private static long displaced(LocalTier local, AtomicLong room, long evictedBefore) {
        if (room.get() < 0) {
            local.enforceCapacity(); // the count needs the end of each sweep
        }
        return local.evictions() - evictedBefore;
    }

    /**
     * Returns the hashes of a target in the local tier, and subtracts the size of all entries from
     * {@code room}. What is not listed is fetched again.
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
