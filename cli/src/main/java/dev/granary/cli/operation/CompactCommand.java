package dev.granary.cli.operation;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

import dev.granary.cli.command.TierCommand;
import dev.granary.cli.option.AgeConverter;
import dev.granary.cli.option.DeviceSelection;
import dev.granary.cli.option.TargetOption;
import dev.granary.cli.output.EntryFormatter;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.admin.BucketCompactor;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.s3.pack.compact.CompactionPlan;
import dev.granary.s3.pack.compact.LeftEntries;
import dev.granary.s3.pack.compact.PackCompactor;
import dev.granary.s3.pack.manifest.PackManifest;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.time.Duration;

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

    private static final String MORE =
            "there are more unpacked entries than one compaction takes; compact again";

    @Mixin
    private TargetOption targets = new TargetOption();

    @Option(names = "--dry-run", description = "only report what would be done")
    private boolean isDry;

    @Option(
            names = "--seal",
            description =
                    "record afterwards that all entries of the target are in packs: lookups then"
                            + " request no others, and entries that are published unpacked are not"
                            + " found until the next compact")
    private boolean isSealing;

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
        boolean isSuccess = true;
        JsonArray results = new JsonArray();
        for (String target : targets.namespaces(DeviceSelection.ANY)) {
            BucketCompactor.Outcome outcome = compact(config, bucket, target, gracePeriod);
            isSuccess &= switch (outcome) {
                case BucketCompactor.Outcome.Planned _ -> true;
                case BucketCompactor.Outcome.Done(PackCompactor.Result.Done done) ->
                    isSuccess(done);
                case BucketCompactor.Outcome.Failed _ -> false;
            };
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

    /**
     * Returns false if the operator has to act. An entry that is too large for a pack, or of
     * another version, needs no action. Entries may vanish meanwhile; if all listed ones did, the
     * listing was wrong.
     */
    private boolean isSuccess(PackCompactor.Result.Done done) {
        LeftEntries left = done.left();
        return done.unremoved() == 0
                && left.damaged() == 0
                && left.unread() == 0
                && (left.gone() == 0 || done.packed() > 0)
                && (!isSealing || done.unpackedEntries() == PackManifest.UnpackedEntries.NONE);
    }

    private BucketCompactor.Outcome compact(
            GranaryConfig config, BucketConfig bucket, String target, Duration gracePeriod)
            throws ConfigException {
        BucketCompactor compactor = new BucketCompactor(config, bucket, target, gracePeriod);
        try (ProgressLine progress =
                new ProgressLine(err(), "compacting", 0).watching(compactor.waits())) {
            return isDry
                    ? compactor.plan()
                    : compactor.run(
                            isSealing
                                    ? PackManifest.UnpackedEntries.NONE
                                    : PackManifest.UnpackedEntries.POSSIBLE,
                            bytes -> progress.passing(Units.bytes(bytes)));
        }
    }

    private void print(BucketConfig bucket, BucketCompactor.Outcome outcome) {
        switch (outcome) {
            case BucketCompactor.Outcome.Planned(CompactionPlan plan) -> print(plan);
            case BucketCompactor.Outcome.Done(PackCompactor.Result.Done done) -> {
                print(done);
                printDamaged(bucket, done.left());
            }
            case BucketCompactor.Outcome.Failed _ -> {}
        }
    }

    private void print(CompactionPlan plan) {
        if (plan.isEmpty()) {
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
                        + " cannot be read and would be dropped from the manifest");
        printIf(plan.removed(), Units.plural(plan.removed(), "object") + " would be removed");
        printIf(
                plan.waiting(),
                Units.plural(plan.waiting(), "object") + " will be removed after the grace period");
        printIf(
                plan.tooLarge(),
                Units.plural(plan.tooLarge(), "entry")
                        + " too large for a pack would stay unpacked");
        if (plan.isTruncated()) {
            out().println(MORE);
        }
    }

    private void print(PackCompactor.Result.Done done) {
        out().println(Units.plural(done.packed(), "entry") + " in "
                + Units.plural(done.written(), "new pack") + ", "
                + Units.plural(done.removed(), "object") + " removed");
        printIf(
                done.left().tooLarge(),
                Units.plural(done.left().tooLarge(), "entry")
                        + " left unpacked: too large for a pack");
        printIf(
                done.left().otherVersion(),
                Units.plural(done.left().otherVersion(), "entry")
                        + " left unpacked: written by another version of Granary");
        printIf(
                done.left().unread(),
                Units.plural(done.left().unread(), "entry")
                        + " left: cannot be read now; compact again");
        printIf(
                done.left().gone(),
                Units.plural(done.left().gone(), "entry") + " listed, but removed meanwhile");
        if (done.left().isTruncated()) {
            out().println(MORE);
        }
        printIf(
                done.dropped(),
                Units.plural(done.dropped(), "entry") + " dropped: damaged in a pack");
        printIf(
                done.unremoved(),
                Units.plural(done.unremoved(), "object")
                        + " could not be removed; this needs s3:DeleteObject");
        if (isSealing && done.unpackedEntries() == PackManifest.UnpackedEntries.NONE) {
            out().println("sealed: lookups request no unpacked entries");
        } else if (isSealing) {
            out().println(
                            done.left().total() > 0 || done.left().isTruncated()
                                    ? "not sealed, because of the entries that were left"
                                    : "not sealed, because another process published meanwhile;"
                                            + " compact again");
        }
    }

    /** Lists the damaged objects. Compaction removes none of them, since no pack has a copy. */
    private void printDamaged(BucketConfig bucket, LeftEntries left) {
        if (left.damaged() == 0) {
            return;
        }
        out().println(Units.plural(left.damaged(), "entry")
                + " left unpacked: damaged; remove the objects, or publish the kernels again:");
        left.damagedKeys().stream().limit(MAX_LISTED).forEach(key -> out().println(
                        "  " + address(bucket, key)));
        printIf(
                left.damaged() - MAX_LISTED,
                "  and " + Units.count(left.damaged() - MAX_LISTED) + " more; --json lists "
                        + LeftEntries.MAX_NAMED);
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
            case BucketCompactor.Outcome.Planned(CompactionPlan plan) -> {
                object.addProperty("fold", plan.folded());
                object.addProperty("foldBytes", plan.foldedBytes());
                object.addProperty("packs", plan.packs());
                object.addProperty("merge", plan.merged());
                object.addProperty("lost", plan.lost());
                object.addProperty("tooLarge", plan.tooLarge());
                object.addProperty("more", plan.isTruncated());
                object.addProperty("remove", plan.removed());
                object.addProperty("waiting", plan.waiting());
            }
            case BucketCompactor.Outcome.Done(PackCompactor.Result.Done done) -> {
                object.addProperty("packed", done.packed());
                object.addProperty("packsWritten", done.written());
                object.addProperty("removed", done.removed());
                object.addProperty("unremoved", done.unremoved());
                object.addProperty("left", done.left().total());
                object.addProperty("damaged", done.left().damaged());
                object.add("damagedObjects", addresses(bucket, done.left()));
                object.addProperty("unread", done.left().unread());
                object.addProperty("tooLarge", done.left().tooLarge());
                object.addProperty("otherVersion", done.left().otherVersion());
                object.addProperty("gone", done.left().gone());
                object.addProperty("more", done.left().isTruncated());
                object.addProperty("dropped", done.dropped());
                object.addProperty(
                        "sealed", done.unpackedEntries() == PackManifest.UnpackedEntries.NONE);
            }
            case BucketCompactor.Outcome.Failed(String cause) ->
                object.addProperty("failed", cause);
        }
        return object;
    }

    private static JsonArray addresses(BucketConfig bucket, LeftEntries left) {
        JsonArray addresses = new JsonArray();
        left.damagedKeys().forEach(key -> addresses.add(address(bucket, key)));
        return addresses;
    }
}
