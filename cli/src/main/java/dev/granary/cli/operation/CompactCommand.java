package dev.granary.cli.operation;

import dev.granary.cli.command.TierCommand;
import dev.granary.cli.option.Converters;
import dev.granary.cli.option.DeviceSelection;
import dev.granary.cli.option.TargetOption;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.cli.place.Places;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.s3.pack.compact.CompactionPlan;
import dev.granary.s3.pack.compact.CompactionReport;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** {@code granary compact}: moves unpacked entries of a bucket into packs. */
@Command(
        name = "compact",
        mixinStandardHelpOptions = true,
        description = "Move unpacked entries of a bucket into packs, merge small packs,"
                + " and remove objects that no reader can be using any more. May run beside"
                + " everything else, and be stopped at any time.")
public final class CompactCommand extends TierCommand {
    /** Maximum number of damaged objects that are listed. */
    private static final int MAX_LISTED = 10;

    /** The least number of digits of an id to be left out. */
    private static final int MIN_DIGITS = 8;

    private static final String MORE = "there is more than one compaction takes; compact again";

    @Parameters(
            arity = "0..1",
            paramLabel = "PLACE",
            description = "s3://NAME/PREFIX; default: the first writable bucket")
    private @Nullable String place;

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

    @Override
    public Integer call() throws Exception {
        BucketConfig bucket = bucket();
        for (String id : without) {
            if (id.length() < MIN_DIGITS) {
                throw new UsageException("--without " + id + " is too short: give at least "
                        + MIN_DIGITS + " digits of the id");
            }
        }
        long leftOut = 0;
        boolean isSuccess = true;
        Report report = report().data("bucket", bucket.name()).data("dryRun", isDry);
        for (String target : targets.namespaces(DeviceSelection.ANY)) {
            BucketCompactor.Outcome outcome = compact(stores().config(), bucket, target);
            Report part = report.part("targets").data("target", target);
            switch (outcome) {
                case BucketCompactor.Outcome.Planned planned -> {
                    heading(bucket, target, part);
                    add(planned, part);
                }
                case BucketCompactor.Outcome.Done done -> {
                    heading(bucket, target, part);
                    add(bucket, done, part);
                    isSuccess &= isSuccess(done);
                    leftOut += done.report().leftOut();
                }
                case BucketCompactor.Outcome.Failed(String cause) -> {
                    part.data("failed", cause)
                            .problem(bucket.name() + " is not compacted: " + cause);
                    isSuccess = false;
                }
            }
        }
        if (isSuccess && !isDry && !without.isEmpty() && leftOut == 0) {
            isSuccess = false;
            report.problem(
                    bucket.name() + " has no entry with such an id: " + String.join(", ", without));
        }
        report.data("healthy", isSuccess).print();
        return isSuccess ? 0 : 1;
    }

    private BucketConfig bucket() throws ConfigException {
        if (place != null) {
            return Places.writableBucket(place, stores().builder());
        }
        return stores().config().buckets().stream()
                .filter(BucketConfig::isWritable)
                .findFirst()
                .orElseThrow(() -> new ConfigException(
                        "No writable bucket is configured; give --bucket or set GRANARY_BUCKET."));
    }

    private static void heading(BucketConfig bucket, String target, Report report) {
        report.line("in  " + bucket.name()).line("for " + target);
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
            GranaryConfig config, BucketConfig bucket, String target) throws ConfigException {
        Set<String> prefixes = new LinkedHashSet<>(without);
        BucketCompactor compactor = new BucketCompactor(config, bucket, target, grace);
        try (ProgressLine progress =
                new ProgressLine(err(), "compacting", 0).watching(compactor.waits())) {
            return isDry
                    ? compactor.plan(prefixes)
                    : compactor.run(
                            prefixes, isAdopting, bytes -> progress.passing(Units.bytes(bytes)));
        }
    }

    private static void add(BucketCompactor.Outcome.Planned planned, Report report) {
        CompactionPlan plan = planned.plan();
        long removed = planned.removal().removed();
        if (plan.isEmpty() && removed == 0) {
            report.line("nothing to do");
        }
        report.count(
                        "packed",
                        plan.folded(),
                        Units.entries(plan.folded(), plan.foldedBytes())
                                + " would be moved into packs")
                .data("packedBytes", plan.foldedBytes())
                .data("packs", plan.packs())
                .count(
                        "merged",
                        plan.merged(),
                        Units.plural(plan.merged(), "pack") + " of " + Units.count(plan.packs())
                                + " would be merged or rewritten")
                .count(
                        "lost",
                        plan.lost(),
                        Units.plural(plan.lost(), "pack")
                                + " missing or damaged; one in each run would be dropped")
                .count("removed", removed, Units.plural(removed, "object") + " would be removed");
        addWaiting(plan.packed() + planned.removal().waiting(), report);
        report.count(
                "tooLarge",
                plan.tooLarge(),
                Units.plural(plan.tooLarge(), "entry")
                        + " too large for a pack would stay unpacked");
        addMore(plan.isTruncated(), report);
    }

    private static void add(BucketConfig bucket, BucketCompactor.Outcome.Done done, Report report) {
        CompactionReport compacted = done.report();
        long removed = compacted.removed() + done.removal().removed();
        long unremoved = compacted.unremoved() + done.removal().unremoved();
        report.count("adopted", done.adopted(), Units.plural(done.adopted(), "pack") + " adopted")
                .data("packed", compacted.packed())
                .data("packsWritten", compacted.written())
                .data("removed", removed)
                .line(Units.plural(compacted.packed(), "entry") + " in "
                        + Units.plural(compacted.written(), "new pack") + ", "
                        + Units.plural(removed, "object") + " removed");
        addEntries(report, "leftOut", compacted.leftOut(), "left out of packs");
        addWaiting(compacted.waiting() + done.removal().waiting(), report);
        report.data("left", compacted.left());
        addEntries(report, "tooLarge", compacted.tooLarge(), "left unpacked: too large for a pack");
        addEntries(
                report,
                "otherVersion",
                compacted.otherVersion(),
                "left unpacked: written by another version of Granary");
        addEntries(report, "unread", compacted.unread(), "left: cannot be read now; compact again");
        addEntries(report, "gone", compacted.gone(), "listed, but removed meanwhile");
        addMore(compacted.isTruncated(), report);
        addEntries(report, "lost", compacted.lost(), "lost: missing or damaged in their pack");
        report.data("lostPacks", compacted.lostPacks());
        if (!compacted.lostPacks().isEmpty()) {
            compacted.lostPacks().forEach(pack -> report.line("  pack " + pack));
            report.line("publish the kernels again, by populate; compact again: one pack with"
                    + " losses is dropped in each run");
        }
        report.count(
                "unremoved",
                unremoved,
                Units.plural(unremoved, "object")
                        + " could not be removed; this needs s3:DeleteObject, and an age above"
                        + " --grace if the server ignores the condition of a deletion");
        // compaction removes no damaged object, since no pack has a copy
        addEntries(
                report,
                "damaged",
                compacted.damagedKeys().size(),
                "left unpacked: damaged; remove the objects, or publish the kernels again:");
        List<String> damaged = compacted.damagedKeys().stream()
                .map(key -> "s3://" + bucket.location().bucket() + "/" + key)
                .toList();
        report.data("damagedObjects", damaged);
        damaged.stream().limit(MAX_LISTED).forEach(address -> report.line("  " + address));
        if (damaged.size() > MAX_LISTED) {
            report.line("  and " + Units.count(damaged.size() - (long) MAX_LISTED)
                    + " more; --json lists all");
        }
        report.line("");
    }

    private static void addEntries(Report report, String name, long count, String text) {
        report.count(name, count, Units.plural(count, "entry") + " " + text);
    }

    private static void addWaiting(long objects, Report report) {
        report.count(
                "waiting",
                objects,
                Units.plural(objects, "object")
                        + " not used any more: removed by a compact after the grace period");
    }

    private static void addMore(boolean isTruncated, Report report) {
        report.data("more", isTruncated);
        if (isTruncated) {
            report.line("there is more than one compaction takes; compact again");
        }
    }
}
