package dev.granary.cli.entry;

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
import dev.granary.local.LocalTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.pack.warm.BulkEntryReader.UnpackedEntries;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
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
        GranaryConfig config = stores.config();
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
                        add(Duration.ofNanos(System.nanoTime() - start), warmed, part);
                        addProblems(config, layer, warmed, part);
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
            ObjLongConsumer<EntryCopier> copied = (entries, of) -> progress.passing(
                    Units.bytes(entries.copiedBytes.sum()) + " of " + Units.bytes(of));
            if (layer instanceof BucketConfig.Directory shared) {
                return Warming.run(shared, local, target, copied);
            }
            try (BulkBucket bucket = TierFactory.bulk(layer, TierFactory.directory(config))) {
                UnpackedEntries unpacked =
                        isPacksOnly ? UnpackedEntries.SKIP : UnpackedEntries.READ;
                return Warming.run(bucket, local, target, unpacked, copied);
            }
        }
    }

    private static void add(Duration elapsed, Warming warmed, Report report) {
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
                .line("");
    }

    /** Adds one line for each problem, with what to do about it. */
    private static void addProblems(
            GranaryConfig config, BucketConfig layer, Warming warmed, Report report) {
        Optional<String> unlisted = warmed.unlisted();
        report.data("unlisted", unlisted).data("displaced", warmed.displaced());
        unlisted.ifPresent(cause -> report.problem("unpacked entries could not be listed in "
                + layer.name() + " (" + cause + "); --packs-only leaves them out"));
        if (warmed.displaced() > 0) {
            report.problem(Units.plural(warmed.displaced(), "entry") + " evicted from "
                    + config.directory() + " again because of its capacity of "
                    + Units.bytes(config.capacityBytes())
                    + "; raise --capacity (GRANARY_CAPACITY)");
        }
    }
}
