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
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ObjLongConsumer;
import java.util.stream.Collectors;

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
     * @param entries the copied entries
     * @param present the number of entries that the local tier had already
     * @param wanted the number of entries of the bucket that it had not
     * @param unpacked how many of these are unpacked
     * @param requests the number of requests sent
     * @param displaced the number of entries that were evicted meanwhile to stay below the capacity
     * @param unlisted the cause if the unpacked entries could not be listed, else empty
     */
    public record Report(
            EntryCopier entries,
            long present,
            long wanted,
            long unpacked,
            long requests,
            long displaced,
            Optional<String> unlisted) {
        /** Returns true if no entry of the bucket was skipped and none remained unlisted. */
        public boolean isWhole() {
            return entries.failed() == 0 && unlisted.isEmpty();
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
        if (layer instanceof BucketConfig.Directory shared) {
            return from(Places.of(shared), namespace, progress);
        }
        try (BulkBucket bucket = TierFactory.bulk(layer, TierFactory.directory(config))) {
            waits.watch(layer.name(), bucket.traffic()::quiet);
            LocalContents before = localContents(namespace);
            BulkEntryReader reader = bucket.bulkReader(namespace);
            BulkReadPlan plan = reader.plan(unpacked, id -> !before.hashes().contains(id));
            AtomicLong room = new AtomicLong(local.capacityBytes() - before.bytesOnDisk());
            EntryCopier copier = copier(room, plan.bytes(), progress);
            copier.skipLost(plan);
            reader.run(plan, copier);
            return new Report(
                    copier,
                    plan.present() + copier.present(),
                    plan.entries(),
                    plan.unpackedEntries(),
                    bucket.requests().total(),
                    displaced(room, before, copier, namespace),
                    plan.unlisted());
        }
    }

    private Report from(
            DirectoryPlace shared, String namespace, ObjLongConsumer<EntryCopier> progress)
            throws IOException, InterruptedException {
        LocalContents before = localContents(namespace);
        Map<Boolean, List<EntryCatalog.Listed>> listed = Place.entries(shared.catalog()).stream()
                .filter(entry -> entry.namespace().equals(namespace))
                .collect(
                        Collectors.partitioningBy(entry -> before.hashes().contains(entry.hash())));
        List<EntryCatalog.Listed> wanted = listed.getOrDefault(false, List.of());
        AtomicLong room = new AtomicLong(local.capacityBytes() - before.bytesOnDisk());
        EntryCopier copier = copier(room, Place.bytes(wanted), progress);
        shared.read(wanted, copier);
        return new Report(
                copier,
                listed.getOrDefault(true, List.of()).size() + copier.present(),
                wanted.size(),
                0,
                0,
                displaced(room, before, copier, namespace),
                Optional.empty());
    }

    /**
     * Returns a copier into the local tier.
     *
     * @param room the free bytes of the capacity, less those of each copied entry
     * @param bytes the bytes of all entries, for {@code progress}
     */
    private EntryCopier copier(AtomicLong room, long bytes, ObjLongConsumer<EntryCopier> progress) {
        EntryFiles files = EntryFiles.in(local.directory());
        return new EntryCopier(
                (entry, whenDone) -> {
                    // the tier reads all of the directory for each 1/16 of its capacity
                    boolean fits = room.addAndGet(-bytesOnDisk(entry)) >= 0;
                    whenDone.accept(fits ? files.store(entry) : local.store(entry));
                },
                _ -> false,
                Runtime.getRuntime().availableProcessors(),
                copied -> progress.accept(copied, bytes));
    }

    /** Returns the number of entries that were evicted, after the end of each sweep. */
    private long displaced(
            AtomicLong room, LocalContents before, EntryCopier copier, String namespace) {
        if (room.get() >= 0) {
            return 0;
        }
        local.enforceCapacity();
        return Math.max(
                0, before.entries() + copier.copied() - localContents(namespace).entries());
    }

    /** Returns the bytes of a file with the entry, and at most two blocks more. */
    private static long bytesOnDisk(Entry entry) {
        return entry.binaries().byteSize() + entry.id().length() + 2 * BLOCK_BYTES;
    }

    /** Contents of the local tier: the hashes of one target, and the size of all entries. */
    private record LocalContents(Set<Sha256> hashes, long entries, long bytes) {
        long bytesOnDisk() {
            return bytes + entries * BLOCK_BYTES;
        }
    }

    /** Returns what can be listed; the rest is fetched again. */
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
            Warnings.warn("warm", "The local directory cannot be listed in full: " + e);
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
