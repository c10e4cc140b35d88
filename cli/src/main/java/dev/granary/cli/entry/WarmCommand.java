package dev.granary.cli.entry;

import dev.granary.cache.EntryCatalog.Listed;
import dev.granary.cache.Sha256;
import dev.granary.cache.support.Warnings;
import dev.granary.cli.option.DeviceOption;
import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.option.StoreOptions;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.local.EntryFiles;
import dev.granary.local.LocalTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.pack.warm.BulkEntryReader;
import dev.granary.s3.pack.warm.BulkEntryReader.UnpackedEntries;
import dev.granary.s3.pack.warm.BulkReadPlan;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.time.Duration;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ObjLongConsumer;
import java.util.stream.Collectors;

/** {@code granary warm}: fills the local tier from the buckets before its entries are needed. */
@Command(
        description = "Fetch the entries for this machine's devices from the buckets into the local"
                + " directory, before they are needed.")
public final class WarmCommand extends OutputCommand {
    @Mixin
    private StoreOptions stores = new StoreOptions();

    @Mixin
    private TargetOption targets = new TargetOption();

    @Mixin
    private DeviceOption device = new DeviceOption();

    @Option(
            names = "--packs-only",
            description = "skip unpacked entries, which take a request each")
    private boolean isPacksOnly;

    @Override
    protected boolean run(Report report) throws Exception {
        GranaryConfig config = stores.builder().build();
        if (config.buckets().isEmpty()) {
            throw new ConfigException(
                    "No bucket is configured; give --bucket or set GRANARY_BUCKET.");
        }
        if (targets.isGiven() && device.isGiven()) {
            throw new ConfigException("--target selects entries without a device; give it, or"
                    + " --backend and --device");
        }
        boolean isSuccess = true;
        List<String> namespaces = targets.namespaces(device.selection());
        Set<String> empty = new LinkedHashSet<>(namespaces);
        report.data("directory", config.directory());
        if (config.capacityBytes() == 0) {
            throw new ConfigException(
                    "The capacity is 0, so there is no local tier to fill; set --capacity or"
                            + " GRANARY_CAPACITY.");
        }
        try (LocalTier local = TierFactory.local(config)) {
            for (BucketConfig layer : config.buckets()) {
                for (String target : namespaces) {
                    long start = System.nanoTime();
                    Report part = report.part("warmed")
                            .data("bucket", layer.name())
                            .data("target", target);
                    try {
                        Warming warmed = from(layer, target, config, local);
                        isSuccess &= warmed.isWhole();
                        if (warmed.wanted() + warmed.present() > 0
                                || warmed.entries().failed.sum() > 0) {
                            empty.remove(target);
                        }
                        part.line("from " + layer.name()).line("for  " + target);
                        Duration elapsed = Duration.ofNanos(System.nanoTime() - start);
                        add(config, layer, warmed, elapsed, part);
                    } catch (IOException e) {
                        isSuccess = false;
                        empty.remove(target);
                        part.data("unavailable", String.valueOf(e.getMessage()));
                        part.problem("nothing was received from " + layer.name() + ": "
                                + e.getMessage());
                    }
                }
            }
        }
        isSuccess &= !isAnythingMissing(config, namespaces, empty, report);
        report.data("healthy", isSuccess);
        return isSuccess;
    }

    /**
     * Returns true if entries are missing: of any named target or, if none was named, of all
     * devices of this machine. Of those one is enough, since the others may be unused.
     */
    private boolean isAnythingMissing(
            GranaryConfig config, List<String> namespaces, Set<String> empty, Report report) {
        if (empty.isEmpty() || (!targets.isGiven() && empty.size() < namespaces.size())) {
            return false;
        }
        String buckets =
                config.buckets().stream().map(BucketConfig::name).collect(Collectors.joining(", "));
        empty.forEach(target -> report.problem("no entry for " + target + " is in " + buckets
                + "; granary ls s3://NAME/PREFIX lists its entries, granary populate adds some"));
        return true;
    }

    private Warming from(BucketConfig layer, String target, GranaryConfig config, LocalTier local)
            throws ConfigException, IOException, InterruptedException {
        try (ProgressLine progress = new ProgressLine(err(), "warming", 0)) {
            return Warming.run(
                    config,
                    layer,
                    local,
                    target,
                    isPacksOnly ? UnpackedEntries.SKIP : UnpackedEntries.READ,
                    (entries, of) -> progress.passing(() ->
                            Units.bytes(entries.copiedBytes.sum()) + " of " + Units.bytes(of)));
        }
    }

    private static void add(
            GranaryConfig config,
            BucketConfig layer,
            Warming warmed,
            Duration elapsed,
            Report report) {
        EntryCopier entries = warmed.entries();
        Place.add("installed", entries.copied.sum(), entries.copiedBytes.sum(), report)
                .field("present", warmed.present())
                .field("skipped", entries.failed.sum())
                .field("received:receivedBytes", Report.bytes(entries.receivedBytes.sum()))
                .field("requests", warmed.requests())
                .field("time:millis", elapsed);
        entries.addFailures(report);
        report.count(
                        "unpacked",
                        warmed.unpacked(),
                        "entry",
                        "needed a request each; granary compact moves them into packs")
                .line("")
                .data("unlisted", warmed.unlisted())
                .data("displaced", warmed.displaced());
        warmed.unlisted()
                .ifPresent(cause -> report.problem("unpacked entries could not be listed in "
                        + layer.name() + " (" + cause + "); --packs-only leaves them out"));
        if (warmed.displaced() > 0) {
            report.problem(Units.plural(warmed.displaced(), "entry") + " evicted from "
                    + config.directory() + " again because of its capacity of "
                    + Units.bytes(config.capacityBytes())
                    + "; raise --capacity (GRANARY_CAPACITY)");
        }
    }

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
        private static final long BLOCK_BYTES = 4096; // a file leaves at most that of its last

        /** Returns true if no entry of the layer was skipped and none remained unlisted. */
        public boolean isWhole() {
            return entries.failed.sum() == 0 && unlisted.isEmpty();
        }

        /**
         * Fetches, verifies and stores the entries of a target that a layer has and the local tier
         * does not, within its capacity.
         *
         * @param namespace the target, as {@link dev.granary.cache.Target#path()} gives it
         * @param unpacked whether unpacked entries of a bucket are fetched, too
         * @param progress receives the copied entries and the bytes of all, on several threads
         * @throws IOException if the contents of the layer are unknown
         */
        public static Warming run(
                GranaryConfig config,
                BucketConfig layer,
                LocalTier local,
                String namespace,
                UnpackedEntries unpacked,
                ObjLongConsumer<EntryCopier> progress)
                throws ConfigException, IOException, InterruptedException {
            long evicted = local.evictions();
            AtomicLong room = new AtomicLong(local.capacityBytes());
            Set<Sha256> present = contents(local, namespace, room);
            if (layer instanceof BucketConfig.Directory shared) {
                DirectoryPlace place = Place.of(shared);
                List<Listed> all = Place.entries(place.catalog).stream()
                        .filter(entry -> entry.namespace().equals(namespace))
                        .toList();
                List<Listed> wanted = all.stream()
                        .filter(entry -> !present.contains(entry.hash()))
                        .toList();
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
            try (BulkBucket bucket = TierFactory.bulk(layer, TierFactory.directory(config))) {
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
        }

        /**
         * Returns a copier into the local tier.
         *
         * @param room the free bytes of the capacity, less those of each copied entry
         * @param bytes the bytes of all entries, for {@code progress}
         */
        private static EntryCopier copier(
                LocalTier local,
                AtomicLong room,
                long bytes,
                ObjLongConsumer<EntryCopier> progress) {
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
         * Returns the hashes of a target in the local tier, and subtracts the size of all entries
         * from {@code room}. What is not listed is fetched again.
         */
        private static Set<Sha256> contents(LocalTier local, String namespace, AtomicLong room) {
            Set<Sha256> hashes = new HashSet<>();
            try {
                local.list((Listed listed) -> {
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
}
