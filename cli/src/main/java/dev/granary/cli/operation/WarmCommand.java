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
import dev.granary.coordinator.admin.WarmReport;
import dev.granary.coordinator.admin.Warmer;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.s3.pack.warm.BulkEntryReader;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
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
                    Warmer.Outcome outcome = from(warmer, layer, target);
                    Duration elapsed = Duration.ofNanos(System.nanoTime() - start);
                    isSuccess &= outcome instanceof Warmer.Outcome.Done done
                            && done.report().isWhole();
                    if (!(outcome instanceof Warmer.Outcome.Done(WarmReport report))
                            || report.entries() + report.present() + report.skippedEntries() > 0) {
                        empty.remove(target);
                    }
                    if (isJson()) {
                        results.add(json(layer, target, elapsed, outcome));
                    } else {
                        print(layer, target, elapsed, outcome);
                    }
                    printProblems(config, layer, outcome);
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

    private Warmer.Outcome from(Warmer warmer, BucketConfig layer, String target)
            throws ConfigException, InterruptedException {
        try (ProgressLine progress =
                new ProgressLine(err(), "warming", 0).watching(warmer.waits())) {
            return warmer.from(
                    layer,
                    target,
                    (bytes, of) -> progress.passing(Units.bytes(bytes) + " of " + Units.bytes(of)));
        }
    }

    private void print(
            BucketConfig layer, String target, Duration elapsed, Warmer.Outcome outcome) {
        if (!(outcome instanceof Warmer.Outcome.Done(WarmReport report))) {
            return;
        }
        out().println("from " + layer.name());
        out().println("for  " + target);
        out().println(EntryFormatter.inSentence(report.installed(), report.installedBytes())
                + " installed, " + Units.count(report.present()) + " there already, "
                + Units.count(report.skippedEntries()) + " skipped");
        report.skipped().forEach((cause, skipped) -> out().println(
                        EntryFormatter.inSentence(skipped.entries(), skipped.bytes()) + " skipped: "
                                + cause));
        out().println(Units.bytes(report.receivedBytes()) + " received in "
                + Units.plural(report.requests(), "request") + ", " + Units.time(elapsed));
        if (report.unpackedEntries() > 0) {
            out().println(Units.plural(report.unpackedEntries(), "entry")
                    + " needed a request each; granary compact moves them into packs");
        }
        out().println();
        out().flush();
    }

    /** Prints one line for each problem, with what to do about it. */
    private void printProblems(GranaryConfig config, BucketConfig layer, Warmer.Outcome outcome) {
        switch (outcome) {
            case Warmer.Outcome.Unavailable unavailable ->
                err().println("granary: nothing was received from " + layer.name() + ": "
                        + unavailable.cause());
            case Warmer.Outcome.Done(WarmReport report) -> {
                report.unlisted().ifPresent(cause -> err().println(
                                "granary: unpacked entries could not be listed in " + layer.name()
                                        + " (" + cause + "); --packs-only leaves them out"));
                if (report.displaced() > 0) {
                    err().println("granary: " + Units.plural(report.displaced(), "entry")
                            + " evicted from " + config.directory()
                            + " again because of its capacity of "
                            + Units.bytes(config.capacityBytes())
                            + "; raise --capacity (GRANARY_CAPACITY)");
                }
            }
        }
        err().flush();
    }

    private static JsonObject json(
            BucketConfig layer, String target, Duration elapsed, Warmer.Outcome outcome) {
        JsonObject object = JsonOutput.object(
                "bucket", layer.name(), "target", target, "millis", Units.millis(elapsed));
        switch (outcome) {
            case Warmer.Outcome.Unavailable unavailable ->
                object.addProperty("unavailable", unavailable.cause());
            case Warmer.Outcome.Done(WarmReport report) -> {
                object.addProperty("installed", report.installed());
                object.addProperty("installedBytes", report.installedBytes());
                object.addProperty("present", report.present());
                object.addProperty("alone", report.unpackedEntries());
                object.addProperty("receivedBytes", report.receivedBytes());
                object.addProperty("requests", report.requests());
                object.addProperty("displaced", report.displaced());
                JsonArray skipped = new JsonArray();
                for (Map.Entry<String, WarmReport.Skipped> each :
                        report.skipped().entrySet()) {
                    skipped.add(JsonOutput.object(
                            "cause",
                            each.getKey(),
                            "entries",
                            each.getValue().entries(),
                            "bytes",
                            each.getValue().bytes()));
                }
                object.add("skipped", skipped);
                report.unlisted().ifPresent(cause -> object.addProperty("unlisted", cause));
            }
        }
        return object;
    }
}
