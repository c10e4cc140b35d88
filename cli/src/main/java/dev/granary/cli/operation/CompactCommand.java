package dev.granary.cli.operation;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

import dev.granary.cli.command.TierCommand;
import dev.granary.cli.option.AgeConverter;
import dev.granary.cli.option.DeviceSelection;
import dev.granary.cli.option.IdPrefixConverter;
import dev.granary.cli.option.TargetOption;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.EntryFormatter;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.s3.pack.compact.CompactionPlan;
import dev.granary.s3.pack.compact.CompactionReport;
import dev.granary.s3.pack.compact.PackRemover;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** {@code granary compact}: moves unpacked entries of a bucket into packs. */
@Command(
        name = "compact",
        mixinStandardHelpOptions = true,
        description =
                "Move unpacked entries of the first writable bucket into packs, merge small packs,"
                        + " and remove objects that no reader can be using any more. May run beside"
                        + " everything else, and be stopped at any time.")
public final class CompactCommand extends TierCommand {
    /** Maximum number of damaged objects that are listed. */
    private static final int MAX_LISTED = 10;

    /** The least number of digits of an id to be left out. */
    private static final int MIN_DIGITS = 8;

    private static final String MORE = "there is more than one compaction takes; compact again";

    @Mixin
    private TargetOption targets = new TargetOption();

    @Option(names = "--dry-run", description = "only report what would be done")
    private boolean isDry;

    @Option(
            names = "--without",
            paramLabel = "ID",
            description =
                    "leave out the entry with this id (repeatable), packed or not: its kernel is"
                            + " compiled again by whoever needs it; in packs it is gone after the"
                            + " next but one compact")
    private List<String> without = new ArrayList<>();

    @Option(
            names = "--adopt",
            description =
                    "first name packs again that no head names, after a head or base was lost;"
                            + " entries that were left out may come back")
    private boolean isAdopting;

    @Option(
            names = "--grace",
            paramLabel = "AGE",
            defaultValue = "1d",
            description = "how long replaced objects are kept, such as 30m, 12h, 7d (default:"
                    + " ${DEFAULT-VALUE})")
    private String grace = "1d";

    @Override
    public Integer call() throws Exception {
        GranaryConfig config = stores().config();
        Duration gracePeriod = AgeConverter.parse(grace, "--grace");
        BucketConfig bucket = config.buckets().stream()
                .filter(BucketConfig::isWritable)
                .findFirst()
                .orElseThrow(() -> new ConfigException(
                        "No writable bucket is configured; give --bucket or set GRANARY_BUCKET."));
        Set<String> prefixes = new LinkedHashSet<>();
        for (String id : without) {
            prefixes.add(prefix(id));
        }
        long leftOut = 0;
        boolean isSuccess = true;
        JsonArray results = new JsonArray();
        for (String target : targets.namespaces(DeviceSelection.ANY)) {
            BucketCompactor.Outcome outcome =
                    compact(config, bucket, target, gracePeriod, prefixes);
            isSuccess &= switch (outcome) {
                case BucketCompactor.Outcome.Planned _ -> true;
                case BucketCompactor.Outcome.Done done -> isSuccess(done);
                case BucketCompactor.Outcome.Failed _ -> false;
            };
            leftOut += outcome instanceof BucketCompactor.Outcome.Done done
                    ? done.report().leftOut()
                    : 0;
            if (isJson()) {
                results.add(json(bucket, target, outcome));
            } else if (!(outcome instanceof BucketCompactor.Outcome.Failed)) {
                out().println("in  " + bucket.name());
                out().println("for " + target);
                print(bucket, outcome);
                out().println();
                out().flush();
            }
            if (outcome instanceof BucketCompactor.Outcome.Failed(String cause)) {
                err().println("granary: " + bucket.name() + " is not compacted: " + cause);
                err().flush();
            }
        }
        if (isSuccess && !isDry && !prefixes.isEmpty() && leftOut == 0) {
            isSuccess = false;
            err().println("granary: " + bucket.name() + " has no entry with such an id: "
                    + String.join(", ", prefixes));
            err().flush();
        }
        if (isJson()) {
            JsonOutput.print(
                    out(),
                    JsonOutput.object(
                            "bucket",
                            bucket.name(),
                            "dryRun",
                            isDry,
                            "healthy",
                            isSuccess,
                            "targets",
                            results));
        }
        return isSuccess ? 0 : 1;
    }

    private static String prefix(String id) throws UsageException {
        String prefix = IdPrefixConverter.parse(id);
        if (prefix.length() < MIN_DIGITS) {
            throw new UsageException("--without " + id + " is too short: give at least "
                    + MIN_DIGITS + " digits of the id");
        }
        return prefix;
    }

    /**
     * Returns false if the operator has to act. An entry that is too large for a pack, or of
     * another version, needs no action. Entries may vanish meanwhile; if all listed ones did, the
     * listing was wrong.
     */
    private static boolean isSuccess(BucketCompactor.Outcome.Done done) {
        CompactionReport report = done.report();
        return report.lostPacks().isEmpty()
                && report.unremoved() + done.removal().unremoved() == 0
                && report.damagedKeys().isEmpty()
                && report.unread() == 0
                && (report.gone() == 0 || report.packed() > 0);
    }

    private BucketCompactor.Outcome compact(
            GranaryConfig config,
            BucketConfig bucket,
            String target,
            Duration gracePeriod,
            Set<String> prefixes)
            throws ConfigException {
        BucketCompactor compactor = new BucketCompactor(config, bucket, target, gracePeriod);
        try (ProgressLine progress =
                new ProgressLine(err(), "compacting", 0).watching(compactor.waits())) {
            return isDry
                    ? compactor.plan(prefixes)
                    : compactor.run(
                            prefixes, isAdopting, bytes -> progress.passing(Units.bytes(bytes)));
        }
    }

    private void print(BucketConfig bucket, BucketCompactor.Outcome outcome) {
        switch (outcome) {
            case BucketCompactor.Outcome.Planned planned -> print(planned);
            case BucketCompactor.Outcome.Done done -> {
                print(done);
                printDamaged(bucket, done.report());
            }
            case BucketCompactor.Outcome.Failed _ -> {}
        }
    }

    private void print(BucketCompactor.Outcome.Planned planned) {
        CompactionPlan plan = planned.plan();
        if (plan.isEmpty() && planned.removal().removed() == 0) {
            out().println("nothing to do");
        }
        printIf(
                plan.folded(),
                EntryFormatter.inSentence(plan.folded(), plan.foldedBytes())
                        + " would be moved into packs");
        printIf(
                plan.merged(),
                Units.plural(plan.merged(), "pack") + " of " + Units.count(plan.packs())
                        + " would be merged or rewritten");
        printIf(
                plan.lost(),
                Units.plural(plan.lost(), "pack")
                        + " missing or damaged; one in each run would be dropped");
        printIf(
                planned.removal().removed(),
                Units.plural(planned.removal().removed(), "object") + " would be removed");
        printWaiting(plan.packed() + planned.removal().waiting());
        printIf(
                plan.tooLarge(),
                Units.plural(plan.tooLarge(), "entry")
                        + " too large for a pack would stay unpacked");
        if (plan.isTruncated()) {
            out().println(MORE);
        }
    }

    private void print(BucketCompactor.Outcome.Done done) {
        CompactionReport report = done.report();
        printIf(done.adopted(), Units.plural(done.adopted(), "pack") + " adopted");
        out().println(Units.plural(report.packed(), "entry") + " in "
                + Units.plural(report.written(), "new pack") + ", "
                + Units.plural(report.removed() + done.removal().removed(), "object")
                + " removed");
        printIf(report.leftOut(), Units.plural(report.leftOut(), "entry") + " left out of packs");
        printWaiting(report.waiting() + done.removal().waiting());
        printIf(
                report.tooLarge(),
                Units.plural(report.tooLarge(), "entry") + " left unpacked: too large for a pack");
        printIf(
                report.otherVersion(),
                Units.plural(report.otherVersion(), "entry")
                        + " left unpacked: written by another version of Granary");
        printIf(
                report.unread(),
                Units.plural(report.unread(), "entry")
                        + " left: cannot be read now; compact again");
        printIf(
                report.gone(),
                Units.plural(report.gone(), "entry") + " listed, but removed meanwhile");
        if (report.isTruncated()) {
            out().println(MORE);
        }
        if (!report.lostPacks().isEmpty()) {
            out().println(Units.plural(report.lost(), "entry")
                    + " lost: missing or damaged in their pack");
            report.lostPacks().forEach(pack -> out().println("  pack " + pack));
            out().println("publish the kernels again, by populate; compact again: one pack with"
                    + " losses is dropped in each run");
        }
        long unremoved = report.unremoved() + done.removal().unremoved();
        printIf(
                unremoved,
                Units.plural(unremoved, "object")
                        + " could not be removed; this needs s3:DeleteObject, and an age above"
                        + " --grace if the server ignores the condition of a deletion");
    }

    private void printWaiting(long objects) {
        printIf(
                objects,
                Units.plural(objects, "object")
                        + " not used any more: removed by a compact after the grace period");
    }

    /** Lists the damaged objects. Compaction removes none of them, since no pack has a copy. */
    private void printDamaged(BucketConfig bucket, CompactionReport report) {
        List<String> keys = report.damagedKeys();
        if (keys.isEmpty()) {
            return;
        }
        out().println(Units.plural(keys.size(), "entry")
                + " left unpacked: damaged; remove the objects, or publish the kernels again:");
        keys.stream().limit(MAX_LISTED).forEach(key -> out().println("  " + address(bucket, key)));
        printIf(
                keys.size() - MAX_LISTED,
                "  and " + Units.count(keys.size() - MAX_LISTED) + " more; --json lists all");
    }

    private static String address(BucketConfig bucket, String key) {
        return "s3://" + bucket.location().bucket() + "/" + key;
    }

    private void printIf(long count, String line) {
        if (count > 0) {
            out().println(line);
        }
    }

    private static JsonObject json(
            BucketConfig bucket, String target, BucketCompactor.Outcome outcome) {
        JsonObject object = JsonOutput.object("target", target);
        switch (outcome) {
            case BucketCompactor.Outcome.Planned(
                    CompactionPlan plan,
                    PackRemover.Removal removal) -> {
                object.addProperty("fold", plan.folded());
                object.addProperty("foldBytes", plan.foldedBytes());
                object.addProperty("packs", plan.packs());
                object.addProperty("merge", plan.merged());
                object.addProperty("lost", plan.lost());
                object.addProperty("tooLarge", plan.tooLarge());
                object.addProperty("more", plan.isTruncated());
                object.addProperty("remove", removal.removed());
                object.addProperty("waiting", plan.packed() + removal.waiting());
            }
            case BucketCompactor.Outcome.Done(
                    CompactionReport report,
                    long adopted,
                    PackRemover.Removal removal) -> {
                object.addProperty("adopted", adopted);
                object.addProperty("packed", report.packed());
                object.addProperty("packsWritten", report.written());
                object.addProperty("removed", report.removed() + removal.removed());
                object.addProperty("unremoved", report.unremoved() + removal.unremoved());
                object.addProperty("waiting", report.waiting() + removal.waiting());
                object.addProperty("leftOut", report.leftOut());
                object.addProperty("lost", report.lost());
                object.add("lostPacks", array(report.lostPacks()));
                object.addProperty("left", report.left());
                object.addProperty("damaged", report.damagedKeys().size());
                object.add(
                        "damagedObjects",
                        array(report.damagedKeys().stream()
                                .map(key -> address(bucket, key))
                                .toList()));
                object.addProperty("unread", report.unread());
                object.addProperty("tooLarge", report.tooLarge());
                object.addProperty("otherVersion", report.otherVersion());
                object.addProperty("gone", report.gone());
                object.addProperty("more", report.isTruncated());
            }
            case BucketCompactor.Outcome.Failed(String cause) ->
                object.addProperty("failed", cause);
        }
        return object;
    }

    private static JsonArray array(List<String> texts) {
        JsonArray array = new JsonArray();
        texts.forEach(array::add);
        return array;
    }
}
