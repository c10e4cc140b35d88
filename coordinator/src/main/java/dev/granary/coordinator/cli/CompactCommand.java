package dev.granary.coordinator.cli;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.granary.coordinator.Compacting;
import dev.granary.coordinator.config.BucketLayer;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.s3.pack.Compaction;
import dev.granary.s3.pack.CompactionPlan;
import dev.granary.s3.pack.Manifest;
import java.time.Duration;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code granary compact}: folds entries that lie alone into packs. */
@Command(name = "compact", mixinStandardHelpOptions = true,
        description = "Fold entries of the first bucket that lie outside of packs into packs, put small packs together, and remove what nobody"
                + " can be reading any more. May run beside everything else, and be stopped at any time.")
final class CompactCommand extends StoreCommand {
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
        Duration age = Age.parse(grace, "--grace");
        BucketLayer bucket = config.buckets().stream().filter(BucketLayer::isWritable).findFirst()
                .orElseThrow(() -> new ConfigException("No bucket is configured that may be written; give --bucket or set GRANARY_BUCKET."));
        boolean isWell = true;
        JsonArray results = new JsonArray();
        for (String target : targets.namespaces()) {
            Compacting.Outcome outcome = compact(config, bucket, target, age);
            isWell &= outcome instanceof Compacting.Outcome.Planned || outcome instanceof Compacting.Outcome.Done;
            if (isJson()) {
                results.add(json(target, outcome));
            } else {
                out().println(bucket.name() + ", " + target);
                out().println("  " + text(outcome));
                out().flush();
            }
        }
        if (isJson()) {
            Json.print(out(), Json.object("bucket", bucket.name(), "dryRun", isDry, "well", isWell, "targets", results));
        }
        return isWell ? 0 : 1;
    }

    private Compacting.Outcome compact(GranaryConfig config, BucketLayer bucket, String target, Duration age) throws ConfigException {
        Compacting compacting = new Compacting(config, bucket, target, age);
        if (isDry) {
            return compacting.plan();
        }
        try (Progress progress = new Progress(err(), "compacting", 0)) {
            return compacting.run(isSealing ? Manifest.Loose.NONE : Manifest.Loose.ALLOWED,
                    bytes -> progress.passing(Text.bytes(bytes)));
        }
    }

    private static String text(Compacting.Outcome outcome) {
        return switch (outcome) {
            case Compacting.Outcome.Planned(CompactionPlan plan) when plan.isEmpty() -> "nothing to be done" + waiting(plan);
            case Compacting.Outcome.Planned(CompactionPlan plan) -> "would fold " + ListedEntries.inSentence(plan.folded(), plan.foldedBytes())
                    + ", put " + Text.plural(plan.merged(), "pack") + " of " + Text.count(plan.packs()) + " together, remove "
                    + Text.plural(plan.removed(), "object") + waiting(plan);
            case Compacting.Outcome.Done(Compaction.Result.Done done) -> Text.plural(done.packed(), "entry") + " in "
                    + Text.plural(done.written(), "new pack") + ", " + Text.plural(done.removed(), "object") + " removed, "
                    + Text.plural(done.skipped(), "entry") + " left where they are: damaged or not to be read";
            case Compacting.Outcome.Failed(String cause) -> "failed: " + cause;
        };
    }

    private static String waiting(CompactionPlan plan) {
        return plan.waiting() == 0 ? "" : "; " + Text.plural(plan.waiting(), "object") + " to be removed when the grace is over";
    }

    private static JsonObject json(String target, Compacting.Outcome outcome) {
        JsonObject object = Json.object("target", target);
        switch (outcome) {
            case Compacting.Outcome.Planned(CompactionPlan plan) -> {
                object.addProperty("fold", plan.folded());
                object.addProperty("foldBytes", plan.foldedBytes());
                object.addProperty("packs", plan.packs());
                object.addProperty("merge", plan.merged());
                object.addProperty("remove", plan.removed());
                object.addProperty("waiting", plan.waiting());
            }
            case Compacting.Outcome.Done(Compaction.Result.Done done) -> {
                object.addProperty("packed", done.packed());
                object.addProperty("packsWritten", done.written());
                object.addProperty("removed", done.removed());
                object.addProperty("skipped", done.skipped());
            }
            case Compacting.Outcome.Failed(String cause) -> object.addProperty("failed", cause);
        }
        return object;
    }
}
