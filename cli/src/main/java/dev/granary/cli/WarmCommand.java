package dev.granary.cli;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.granary.cli.option.CommandFailedException;
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
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code granary warm}: fills the local tier from the buckets before it is needed. */
@Command(name = "warm", mixinStandardHelpOptions = true,
        description = "Fetch what the buckets have for this machine's devices into the local directory, before it is needed.")
final class WarmCommand extends TierCommand {
    @Mixin
    private TargetOption targets = new TargetOption();

    @Option(names = "--packs-only", description = "leave entries that lie outside of packs, which take a request each")
    private boolean isPacksOnly;

    @Override
    public Integer call() throws Exception {
        GranaryConfig config = stores().config();
        if (config.buckets().isEmpty()) {
            throw new ConfigException("No bucket is configured; give --bucket or set GRANARY_BUCKET.");
        }
        boolean isWell = true;
        Set<String> empty = new LinkedHashSet<>(targets.namespaces());
        JsonArray results = new JsonArray();
        try (Warmer warm = Warmer.open(config, isPacksOnly ? BulkEntryReader.UnpackedEntries.SKIP : BulkEntryReader.UnpackedEntries.READ)) {
            for (BucketConfig layer : config.buckets()) {
                for (String target : targets.namespaces()) {
                    long start = System.nanoTime();
                    Warmer.Outcome outcome = from(warm, layer, target);
                    Duration took = Duration.ofNanos(System.nanoTime() - start);
                    isWell &= outcome instanceof Warmer.Outcome.Done done && done.report().isWhole();
                    if (!(outcome instanceof Warmer.Outcome.Done(WarmReport report)) || report.entries() + report.present() + report.skippedEntries() > 0) {
                        empty.remove(target);
                    }
                    if (isJson()) {
                        results.add(json(layer, target, took, outcome));
                    } else {
                        print(layer, target, took, outcome);
                    }
                    complain(config, layer, outcome);
                }
            }
        }
        isWell &= !isNothingThere(config, empty);
        if (isJson()) {
            JsonOutput.print(out(), JsonOutput.object("directory", config.directory(), "well", isWell, "warmed", results));
        }
        return isWell ? 0 : 1;
    }

    /** A target that was named must be there; of this machine's own devices, one is enough: the others may be of no use to anybody. */
    private boolean isNothingThere(GranaryConfig config, Set<String> empty) throws CommandFailedException, UsageException {
        if (empty.isEmpty() || (!targets.isGiven() && empty.size() < targets.namespaces().size())) {
            return false;
        }
        String buckets = config.buckets().stream().map(BucketConfig::name).collect(Collectors.joining(", "));
        empty.forEach(target -> err().println("granary: nothing for " + target + " is in " + buckets
                + "; granary ls --tier bucket shows what is there, granary populate puts it there"));
        err().flush();
        return true;
    }

    private Warmer.Outcome from(Warmer warm, BucketConfig layer, String target) throws ConfigException, InterruptedException {
        try (ProgressLine progress = new ProgressLine(err(), "warming", 0).watching(warm.waits())) {
            return warm.from(layer, target, (bytes, of) -> progress.passing(Units.bytes(bytes) + " of " + Units.bytes(of)));
        }
    }

    private void print(BucketConfig layer, String target, Duration took, Warmer.Outcome outcome) {
        if (!(outcome instanceof Warmer.Outcome.Done(WarmReport report))) {
            return;
        }
        out().println("from " + layer.name());
        out().println("for  " + target);
        out().println(EntryFormatter.inSentence(report.installed(), report.installedBytes()) + " installed, " + Units.count(report.present())
                + " there already, " + Units.count(report.skippedEntries()) + " skipped");
        report.skipped().forEach((cause, skipped) -> out().println(EntryFormatter.inSentence(skipped.entries(), skipped.bytes()) + " skipped: " + cause));
        out().println(Units.bytes(report.receivedBytes()) + " came in " + Units.plural(report.requests(), "request") + ", " + Units.time(took));
        if (report.unpackedEntries() > 0) {
            out().println(Units.plural(report.unpackedEntries(), "entry") + " had to be asked for alone; granary compact puts them into packs");
        }
        out().println();
        out().flush();
    }

    /** What is to be done about it, one line each. */
    private void complain(GranaryConfig config, BucketConfig layer, Warmer.Outcome outcome) {
        switch (outcome) {
            case Warmer.Outcome.Unavailable lost -> err().println("granary: nothing came from " + layer.name() + ": " + lost.cause());
            case Warmer.Outcome.Done(WarmReport report) -> {
                report.unlisted().ifPresent(cause -> err().println("granary: entries outside of packs could not be listed in " + layer.name() + " ("
                        + cause + "); allow s3:ListBucket, or say --packs-only"));
                if (report.displaced() > 0) {
                    err().println("granary: " + Units.plural(report.displaced(), "entry") + " left " + config.directory()
                            + " again, which keeps to its capacity of " + Units.bytes(config.capacityBytes()) + "; raise --capacity (GRANARY_CAPACITY)");
                }
            }
        }
        err().flush();
    }

    private static JsonObject json(BucketConfig layer, String target, Duration took, Warmer.Outcome outcome) {
        JsonObject object = JsonOutput.object("bucket", layer.name(), "target", target, "millis", Units.millis(took));
        switch (outcome) {
            case Warmer.Outcome.Unavailable lost -> object.addProperty("unavailable", lost.cause());
            case Warmer.Outcome.Done(WarmReport report) -> {
                object.addProperty("installed", report.installed());
                object.addProperty("installedBytes", report.installedBytes());
                object.addProperty("present", report.present());
                object.addProperty("alone", report.unpackedEntries());
                object.addProperty("receivedBytes", report.receivedBytes());
                object.addProperty("requests", report.requests());
                object.addProperty("displaced", report.displaced());
                JsonArray skipped = new JsonArray();
                for (Map.Entry<String, WarmReport.Skipped> each : report.skipped().entrySet()) {
                    skipped.add(JsonOutput.object("cause", each.getKey(), "entries", each.getValue().entries(), "bytes", each.getValue().bytes()));
                }
                object.add("skipped", skipped);
                report.unlisted().ifPresent(cause -> object.addProperty("unlisted", cause));
            }
        }
        return object;
    }
}
