package dev.granary.cli.operation;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

import dev.granary.cli.command.TierCommand;
import dev.granary.cli.option.DeviceOption;
import dev.granary.cli.option.TargetOption;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.EntryFormatter;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Units;
import dev.granary.cli.place.EntryCopier;
import dev.granary.cli.place.Warmer;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.s3.pack.warm.BulkEntryReader;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/** {@code granary warm}: fills the local tier from the buckets before its entries are needed. */
@Command(
        name = "warm",
        mixinStandardHelpOptions = true,
        description = "Fetch the entries for this machine's devices from the buckets into the local"
                + " directory, before they are needed.")
public final class WarmCommand extends TierCommand {
    @Mixin
    private TargetOption targets = new TargetOption();

    @Mixin
    private DeviceOption device = new DeviceOption();

    @Option(
            names = "--packs-only",
            description = "skip unpacked entries, which take a request each")
    private boolean isPacksOnly;

    @Override
    public Integer call() throws Exception {
        GranaryConfig config = stores().config();
        if (config.buckets().isEmpty()) {
            throw new ConfigException(
                    "No bucket is configured; give --bucket or set GRANARY_BUCKET.");
        }
        if (targets.isGiven() && !device.arguments().isEmpty()) {
            throw new UsageException("--target selects entries without a device; give it, or"
                    + " --backend and --device");
        }
        boolean isSuccess = true;
        List<String> namespaces = targets.namespaces(device.selection());
        Set<String> empty = new LinkedHashSet<>(namespaces);
        JsonArray results = new JsonArray();
        try (Warmer warmer = Warmer.open(
                config,
                isPacksOnly
                        ? BulkEntryReader.UnpackedEntries.SKIP
                        : BulkEntryReader.UnpackedEntries.READ)) {
            for (BucketConfig layer : config.buckets()) {
                for (String target : namespaces) {
                    long start = System.nanoTime();
                    JsonObject result = JsonOutput.object("bucket", layer.name(), "target", target);
                    results.add(result);
                    try {
                        Warmer.Report report = from(warmer, layer, target);
                        Duration elapsed = Duration.ofNanos(System.nanoTime() - start);
                        isSuccess &= report.isWhole();
                        if (report.wanted()
                                        + report.present()
                                        + report.entries().failed()
                                > 0) {
                            empty.remove(target);
                        }
                        if (isJson()) {
                            add(result, elapsed, report);
                        } else {
                            print(layer, target, elapsed, report);
                        }
                        printProblems(config, layer, report);
                    } catch (IOException e) {
                        isSuccess = false;
                        empty.remove(target);
                        result.addProperty("unavailable", e.getMessage());
                        err().println("granary: nothing was received from " + layer.name() + ": "
                                + e.getMessage());
                        err().flush();
                    }
                }
            }
        }
        isSuccess &= !isAnythingMissing(config, namespaces, empty);
        if (isJson()) {
            JsonOutput.print(
                    out(),
                    JsonOutput.object(
                            "directory",
                            config.directory(),
                            "healthy",
                            isSuccess,
                            "warmed",
                            results));
        }
        return isSuccess ? 0 : 1;
    }

    /**
     * Returns true if entries are missing: of any named target or, if none was named, of all
     * devices of this machine. Of those one is enough, since the others may be unused.
     */
    private boolean isAnythingMissing(
            GranaryConfig config, List<String> namespaces, Set<String> empty) {
        if (empty.isEmpty() || (!targets.isGiven() && empty.size() < namespaces.size())) {
            return false;
        }
        String buckets =
                config.buckets().stream().map(BucketConfig::name).collect(Collectors.joining(", "));
        empty.forEach(
                target -> err().println("granary: no entry for " + target + " is in " + buckets
                        + "; granary ls --tier bucket lists its entries, granary"
                        + " populate adds some"));
        err().flush();
        return true;
    }

    private Warmer.Report from(Warmer warmer, BucketConfig layer, String target)
            throws ConfigException, IOException, InterruptedException {
        try (ProgressLine progress =
                new ProgressLine(err(), "warming", 0).watching(warmer.waits())) {
            return warmer.from(
                    layer,
                    target,
                    (entries, of) -> progress.passing(
                            Units.bytes(entries.receivedBytes()) + " of " + Units.bytes(of)));
        }
    }

    private void print(BucketConfig layer, String target, Duration elapsed, Warmer.Report report) {
        EntryCopier entries = report.entries();
        out().println("from " + layer.name());
        out().println("for  " + target);
        out().println(EntryFormatter.inSentence(entries.copied(), entries.copiedBytes())
                + " installed, " + Units.count(report.present()) + " there already, "
                + Units.count(entries.failed()) + " skipped");
        entries.failures().forEach((cause, skipped) -> out().println(
                        EntryFormatter.inSentence(skipped.entries(), skipped.bytes()) + " skipped: "
                                + cause));
        out().println(Units.bytes(entries.receivedBytes()) + " received in "
                + Units.plural(report.requests(), "request") + ", " + Units.time(elapsed));
        if (report.unpacked() > 0) {
            out().println(Units.plural(report.unpacked(), "entry")
                    + " needed a request each; granary compact moves them into packs");
        }
        out().println();
        out().flush();
    }

    /** Prints one line for each problem, with what to do about it. */
    private void printProblems(GranaryConfig config, BucketConfig layer, Warmer.Report report) {
        report.unlisted().ifPresent(cause -> err().println(
                        "granary: unpacked entries could not be listed in " + layer.name() + " ("
                                + cause + "); --packs-only leaves them out"));
        if (report.displaced() > 0) {
            err().println("granary: " + Units.plural(report.displaced(), "entry")
                    + " evicted from " + config.directory() + " again because of its capacity of "
                    + Units.bytes(config.capacityBytes()) + "; raise --capacity"
                    + " (GRANARY_CAPACITY)");
        }
        err().flush();
    }

    private static void add(JsonObject object, Duration elapsed, Warmer.Report report) {
        object.addProperty("millis", Units.millis(elapsed));
        object.addProperty("installed", report.entries().copied());
        object.addProperty("installedBytes", report.entries().copiedBytes());
        object.addProperty("present", report.present());
        object.addProperty("alone", report.unpacked());
        object.addProperty("receivedBytes", report.entries().receivedBytes());
        object.addProperty("requests", report.requests());
        object.addProperty("displaced", report.displaced());
        object.add("skipped", EntryFormatter.json(report.entries().failures()));
        report.unlisted().ifPresent(cause -> object.addProperty("unlisted", cause));
    }
}
