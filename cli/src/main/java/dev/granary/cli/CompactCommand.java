package dev.granary.cli;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.granary.cli.option.AgeConverter;
import dev.granary.cli.option.TargetOption;
import dev.granary.cli.output.EntryFormatter;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.admin.BucketCompactor;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.s3.pack.PackManifest;
import dev.granary.s3.pack.compact.CompactionPlan;
import dev.granary.s3.pack.compact.PackCompactor;
import java.time.Duration;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code granary compact}: folds entries that lie alone into packs. */
@Command(name = "compact", mixinStandardHelpOptions = true,
        description = "Fold entries of the first bucket that lie outside of packs into packs, put small packs together, and remove what nobody"
                + " can be reading any more. May run beside everything else, and be stopped at any time.")
final class CompactCommand extends TierCommand {
    /** How many damaged objects are shown. */
    private static final int SHOWN = 10;
    private static final String MORE = "more entries lie alone than one compaction takes; compact again";

    @Mixin
    private TargetOption targets = new TargetOption();

    @Option(names = "--dry-run", description = "tell what would be done")
    private boolean isDry;

    @Option(names = "--seal", description = "say afterwards that all entries of the target are in packs: look-ups then ask for no others, and"
            + " what machines publish alone is not seen until the next compact")
    private boolean isSealing;

    @Option(names = "--grace", paramLabel = "AGE", defaultValue = "1d",
            description = "how long what is replaced stays, such as 30m, 12h, 7d (default: ${DEFAULT-VALUE})")
    private String grace = "1d";

    @Override
    public Integer call() throws Exception {
        GranaryConfig config = stores().config();
        Duration age = AgeConverter.parse(grace, "--grace");
        BucketConfig bucket = config.buckets().stream().filter(BucketConfig::isWritable).findFirst()
                .orElseThrow(() -> new ConfigException("No bucket is configured that may be written; give --bucket or set GRANARY_BUCKET."));
        boolean isWell = true;
        JsonArray results = new JsonArray();
        for (String target : targets.namespaces()) {
            BucketCompactor.Outcome outcome = compact(config, bucket, target, age);
            isWell &= switch (outcome) {
                case BucketCompactor.Outcome.Planned _ -> true;
                case BucketCompactor.Outcome.Done(PackCompactor.Result.Done done) -> isWell(done);
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
            JsonOutput.print(out(), JsonOutput.object("bucket", bucket.name(), "dryRun", isDry, "well", isWell, "targets", results));
        }
        return isWell ? 0 : 1;
    }

    /**
     * False if the operator has to act. An entry that is too large for a pack, or of another version,
     * needs no action. Entries may vanish meanwhile; if all that were listed are gone, the listing was wrong.
     */
    private boolean isWell(PackCompactor.Result.Done done) {
        PackCompactor.Left left = done.left();
        return done.unremoved() == 0 && left.damaged() == 0 && left.unread() == 0 && (left.gone() == 0 || done.packed() > 0)
                && (!isSealing || done.unpackedEntries() == PackManifest.UnpackedEntries.NONE);
    }

    private BucketCompactor.Outcome compact(GranaryConfig config, BucketConfig bucket, String target, Duration age) throws ConfigException {
        BucketCompactor compacting = new BucketCompactor(config, bucket, target, age);
        try (ProgressLine progress = new ProgressLine(err(), "compacting", 0).watching(compacting.waits())) {
            return isDry ? compacting.plan() : compacting.run(isSealing ? PackManifest.UnpackedEntries.NONE : PackManifest.UnpackedEntries.POSSIBLE,
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
            out().println("nothing is to be done");
        }
        tell(plan.folded(), EntryFormatter.inSentence(plan.folded(), plan.foldedBytes()) + " would go into packs");
        tell(plan.merged(), Units.plural(plan.merged(), "pack") + " of " + Units.count(plan.packs()) + " would be put together or rewritten");
        tell(plan.lost(), Units.plural(plan.lost(), "pack") + " cannot be read and would be named no more");
        tell(plan.removed(), Units.plural(plan.removed(), "object") + " would be removed");
        tell(plan.waiting(), Units.plural(plan.waiting(), "object") + " will be removed when the grace is over");
        tell(plan.tooLarge(), Units.plural(plan.tooLarge(), "entry") + " too large for a pack would stay alone");
        if (plan.isTruncated()) {
            out().println(MORE);
        }
    }

    private void print(PackCompactor.Result.Done done) {
        out().println(Units.plural(done.packed(), "entry") + " in " + Units.plural(done.written(), "new pack") + ", "
                + Units.plural(done.removed(), "object") + " removed");
        tell(done.left().tooLarge(), Units.plural(done.left().tooLarge(), "entry") + " left alone: too large for a pack");
        tell(done.left().otherVersion(), Units.plural(done.left().otherVersion(), "entry") + " left alone: written by another version of Granary");
        tell(done.left().unread(), Units.plural(done.left().unread(), "entry") + " left: not to be read now; compact again");
        tell(done.left().gone(), Units.plural(done.left().gone(), "entry") + " listed, and not there any more");
        if (done.left().isTruncated()) {
            out().println(MORE);
        }
        tell(done.dropped(), Units.plural(done.dropped(), "entry") + " dropped, which were damaged in a pack");
        tell(done.unremoved(), Units.plural(done.unremoved(), "object") + " could not be removed; that needs s3:DeleteObject");
        if (isSealing && done.unpackedEntries() == PackManifest.UnpackedEntries.NONE) {
            out().println("sealed: look-ups ask for nothing outside of packs");
        } else if (isSealing) {
            out().println(done.left().total() > 0 || done.left().isTruncated()
                    ? "not sealed, because of the entries that were left"
                    : "not sealed, because another process published meanwhile; compact again");
        }
    }

    /** TreeNames the damaged objects. PackCompactor removes none: a pack has no copy of them. */
    private void printDamaged(BucketConfig bucket, PackCompactor.Left left) {
        if (left.damaged() == 0) {
            return;
        }
        out().println(Units.plural(left.damaged(), "entry") + " left alone: damaged; remove the objects, or publish the kernels again:");
        left.damagedKeys().stream().limit(SHOWN).forEach(key -> out().println("  " + address(bucket, key)));
        tell(left.damaged() - SHOWN, "  and " + Units.count(left.damaged() - SHOWN) + " more; --json names " + PackCompactor.Left.MAX_NAMED);
    }

    private static String address(BucketConfig bucket, String key) {
        return "s3://" + bucket.location().bucket() + "/" + key;
    }

    private void tell(long count, String line) {
        if (count > 0) {
            out().println(line);
        }
    }

    private static JsonObject json(BucketConfig bucket, String target, BucketCompactor.Outcome outcome) {
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
                object.addProperty("sealed", done.unpackedEntries() == PackManifest.UnpackedEntries.NONE);
            }
            case BucketCompactor.Outcome.Failed(String cause) -> object.addProperty("failed", cause);
        }
        return object;
    }

    private static JsonArray addresses(BucketConfig bucket, PackCompactor.Left left) {
        JsonArray addresses = new JsonArray();
        left.damagedKeys().forEach(key -> addresses.add(address(bucket, key)));
        return addresses;
    }
}
