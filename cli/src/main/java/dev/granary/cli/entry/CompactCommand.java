package dev.granary.cli.entry;

import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.Converters;
import dev.granary.cli.option.DeviceSelection;
import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.s3.BucketTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.pack.compact.CompactionException;
import dev.granary.s3.pack.compact.CompactionPlan;
import dev.granary.s3.pack.compact.CompactionReport;
import dev.granary.s3.pack.compact.PackCompactor;
import dev.granary.s3.pack.compact.PackRemover;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** {@code granary compact}: moves unpacked entries of a bucket into packs. */
@Command(
        description = "Move unpacked entries of a bucket into packs, merge small packs,"
                + " and remove objects that no reader can be using any more. May run beside"
                + " everything else, and be stopped at any time.")
public final class CompactCommand extends OutputCommand {
    /** Maximum number of damaged objects that are listed. */
    private static final int MAX_LISTED = 10;

    /** The least number of digits of an id to be left out. */
    private static final int MIN_DIGITS = 8;

    private static final int MAX_ATTEMPTS = 5;

    private static final String WAITING =
            "not used any more: removed by a compact after the grace period";

    @Mixin
    private PlaceOptions.Layer place = new PlaceOptions.Layer();

    @Mixin
    private TargetOption targets = new TargetOption();

    @Option(names = "--dry-run", description = "only report what would be done")
    private boolean isDry;

    @Option(
            names = "--without",
            paramLabel = "ID",
            converter = Converters.IdPrefix.class,
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
            converter = Converters.Age.class,
            description = "how long replaced objects are kept, such as 30m, 12h, 7d (default:"
                    + " ${DEFAULT-VALUE})")
    private Duration grace = Duration.ofDays(1);

    private long leftOut;

    @Override
    protected boolean run(Report report) throws Exception {
        BucketConfig bucket = place.layer();
        for (String id : without) {
            if (id.length() < MIN_DIGITS) {
                throw new ConfigException("--without " + id + " is too short: give at least "
                        + MIN_DIGITS + " digits of the id");
            }
        }
        boolean isSuccess = true;
        report.data("bucket", bucket.name()).data("dryRun", isDry);
        List<String> namespaces = targets.namespaces(DeviceSelection.ANY);
        try (BucketTier tier = place.open(bucket);
                BulkBucket bulk = tier.packed()) {
            for (String target : namespaces) {
                Report part = report.part("targets").data("target", target);
                try {
                    isSuccess &= isDry
                            ? plan(bucket, bulk, target, part)
                            : compact(bucket, tier, bulk, target, part);
                } catch (CompactionException | CommandFailedException e) {
                    part.data("failed", String.valueOf(e.getMessage()))
                            .problem(bucket.name() + " is not compacted: " + e.getMessage());
                    isSuccess = false;
                }
            }
        }
        if (isSuccess && !isDry && !without.isEmpty() && leftOut == 0) {
            isSuccess = false;
            report.problem(
                    bucket.name() + " has no entry with such an id: " + String.join(", ", without));
        }
        report.data("healthy", isSuccess);
        return isSuccess;
    }

    private boolean plan(BucketConfig bucket, BulkBucket bulk, String target, Report report)
            throws CompactionException {
        CompactionPlan plan = bulk.compactor(target).plan(Set.copyOf(without));
        PackRemover.Removal removal = bulk.remover(target).plan(grace);
        report.line("in  " + bucket.name()).line("for " + target);
        if (plan.isEmpty() && removal.removed() == 0) {
            report.line("nothing to do");
        }
        if (plan.folded() > 0) {
            report.line(Units.entries(plan.folded(), plan.foldedBytes())
                    + " would be moved into packs");
        }
        String merged = "of " + Units.count(plan.packs()) + " would be merged or rewritten";
        report.data("packed", plan.folded())
                .data("packedBytes", plan.foldedBytes())
                .data("packs", plan.packs())
                .count("merged", plan.merged(), "pack", merged)
                .count(
                        "lost",
                        plan.lost(),
                        "pack",
                        "missing or damaged; one in each run would be dropped")
                .count("removed", removal.removed(), "object", "would be removed")
                .count("waiting", plan.packed() + removal.waiting(), "object", WAITING)
                .count(
                        "tooLarge",
                        plan.tooLarge(),
                        "entry",
                        "too large for a pack would stay unpacked");
        addMore(plan.isTruncated(), report);
        return true;
    }

    /**
     * Plans and runs a compaction, and plans again if other writers interfere. Returns false if the
     * operator has to act. An entry that is too large for a pack, or of another version, needs no
     * action. Entries may vanish meanwhile; if all listed ones did, the listing was wrong.
     */
    private boolean compact(
            BucketConfig bucket, BucketTier tier, BulkBucket bulk, String target, Report report)
            throws CompactionException {
        Optional<CompactionReport> compacted = Optional.empty();
        PackRemover.Removal removal;
        long adopted;
        try (ProgressLine progress = new ProgressLine(err(), "compacting", 0)) {
            Optional<String> obstacle = tier.packObstacle();
            if (obstacle.isPresent()) {
                throw new CommandFailedException(obstacle.get());
            }
            adopted = isAdopting ? bulk.adopter(target, tier::disprove).run() : 0;
            PackCompactor compactor = bulk.compactor(target);
            for (int attempt = 1; attempt <= MAX_ATTEMPTS && compacted.isEmpty(); attempt++) {
                compacted = compactor.run(
                        compactor.plan(Set.copyOf(without)),
                        grace,
                        tier.honoursConditionalDelete(),
                        bytes -> progress.passing(() -> Units.bytes(bytes)));
            }
            if (compacted.isEmpty()) {
                throw new CommandFailedException(
                        "other writers were faster " + MAX_ATTEMPTS + " times; try again");
            }
            removal = bulk.remover(target).run(grace);
        }
        report.line("in  " + bucket.name())
                .line("for " + target)
                .count("adopted", adopted, "pack", "adopted");
        CompactionReport done = compacted.get();
        add(tier.config().location().bucket(), done, removal, report);
        leftOut += done.leftOut();
        return done.lostPacks().isEmpty()
                && done.unremoved() + removal.unremoved() == 0
                && done.damagedKeys().isEmpty()
                && done.unread() == 0
                && (done.gone() == 0 || done.packed() > 0);
    }

    private static void add(
            String bucket, CompactionReport done, PackRemover.Removal removal, Report report) {
        long removed = done.removed() + removal.removed();
        report.data("packed", done.packed())
                .data("packsWritten", done.written())
                .data("removed", removed)
                .line(Units.plural(done.packed(), "entry") + " in "
                        + Units.plural(done.written(), "new pack") + ", "
                        + Units.plural(removed, "object") + " removed")
                .count("leftOut", done.leftOut(), "entry", "left out of packs")
                .count("waiting", done.waiting() + removal.waiting(), "object", WAITING)
                .data("left", done.left())
                .count("tooLarge", done.tooLarge(), "entry", "left unpacked: too large for a pack")
                .count(
                        "otherVersion",
                        done.otherVersion(),
                        "entry",
                        "left unpacked: written by another version of Granary")
                .count("unread", done.unread(), "entry", "left: cannot be read now; compact again")
                .count("gone", done.gone(), "entry", "listed, but removed meanwhile");
        addMore(done.isTruncated(), report);
        report.count("lost", done.lost(), "entry", "lost: missing or damaged in their pack")
                .data("lostPacks", done.lostPacks());
        if (!done.lostPacks().isEmpty()) {
            done.lostPacks().forEach(pack -> report.line("  pack " + pack));
            report.line("publish the kernels again, by populate; compact again: one pack with"
                    + " losses is dropped in each run");
        }
        // compaction removes no damaged object, since no pack has a copy
        List<String> damaged = done.damagedKeys().stream()
                .map(key -> "s3://" + bucket + "/" + key)
                .toList();
        report.count(
                        "unremoved",
                        done.unremoved() + removal.unremoved(),
                        "object",
                        "could not be removed; this needs s3:DeleteObject, and an age above"
                                + " --grace if the server ignores the condition of a deletion")
                .count(
                        "damaged",
                        damaged.size(),
                        "entry",
                        "left unpacked: damaged; remove the objects, or publish the kernels again:")
                .data("damagedObjects", damaged);
        damaged.stream().limit(MAX_LISTED).forEach(address -> report.line("  " + address));
        if (damaged.size() > MAX_LISTED) {
            report.line("  and " + Units.count(damaged.size() - (long) MAX_LISTED)
                    + " more; --json lists all");
        }
        report.line("");
    }

    private static void addMore(boolean isTruncated, Report report) {
        report.data("more", isTruncated);
        if (isTruncated) {
            report.line("there is more than one compaction takes; compact again");
        }
    }
}
