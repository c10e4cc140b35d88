package dev.granary.cli.operation;

import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.Converters;
import dev.granary.cli.option.DeviceSelection;
import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.option.StoreOptions;
import dev.granary.cli.option.TargetOption;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.SilenceMonitor;
import dev.granary.cli.output.Units;
import dev.granary.cli.place.Places;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.s3.BucketTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.pack.compact.CompactionException;
import dev.granary.s3.pack.compact.CompactionPlan;
import dev.granary.s3.pack.compact.CompactionReport;
import dev.granary.s3.pack.compact.PackCompactor;
import dev.granary.s3.pack.compact.PackRemover;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/** {@code granary compact}: moves unpacked entries of a bucket into packs. */
@Command(
        name = "compact",
        mixinStandardHelpOptions = true,
        description = "Move unpacked entries of a bucket into packs, merge small packs,"
                + " and remove objects that no reader can be using any more. May run beside"
                + " everything else, and be stopped at any time.")
public final class CompactCommand extends OutputCommand {
    @Mixin
    private StoreOptions stores = new StoreOptions();

    /** Maximum number of damaged objects that are listed. */
    private static final int MAX_LISTED = 10;

    /** The least number of digits of an id to be left out. */
    private static final int MIN_DIGITS = 8;

    private static final int MAX_ATTEMPTS = 5;

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

    private long leftOut;

    @Override
    public Integer call() throws Exception {
        BucketConfig.S3 bucket = bucket();
        for (String id : without) {
            if (id.length() < MIN_DIGITS) {
                throw new UsageException("--without " + id + " is too short: give at least "
                        + MIN_DIGITS + " digits of the id");
            }
        }
        boolean isSuccess = true;
        Report report = report().data("bucket", bucket.name()).data("dryRun", isDry);
        for (String target : targets.namespaces(DeviceSelection.ANY)) {
            Report part = report.part("targets").data("target", target);
            try {
                isSuccess &= isDry ? plan(bucket, target, part) : compact(bucket, target, part);
            } catch (CompactionException | CommandFailedException e) {
                part.data("failed", String.valueOf(e.getMessage()))
                        .problem(bucket.name() + " is not compacted: " + e.getMessage());
                isSuccess = false;
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

    private BucketConfig.S3 bucket() throws ConfigException {
        BucketConfig layer = place != null
                ? Places.writableBucket(place, stores.builder())
                : stores.config().buckets().stream()
                        .filter(BucketConfig::isWritable)
                        .findFirst()
                        .orElseThrow(() -> new ConfigException("No writable bucket is configured;"
                                + " give --bucket or set GRANARY_BUCKET."));
        if (layer instanceof BucketConfig.S3 bucket) {
            return bucket;
        }
        throw new ConfigException(
                layer.name() + " is a directory, which has no packs; name a bucket.");
    }

    private ProgressLine progress(BucketConfig bucket, List<Supplier<Duration>> quiet) {
        SilenceMonitor waits = new SilenceMonitor();
        quiet.forEach(each -> waits.watch(bucket.name(), each));
        return new ProgressLine(err(), "compacting", 0).watching(waits);
    }

    private static void heading(BucketConfig bucket, String target, Report report) {
        report.line("in  " + bucket.name()).line("for " + target);
    }

    /** Plans a compaction without doing it. */
    private boolean plan(BucketConfig bucket, String target, Report report)
            throws ConfigException, CompactionException {
        CompactionPlan plan;
        PackRemover.Removal removal;
        try (BulkBucket bulk = TierFactory.bulk(bucket, TierFactory.directory(stores.config()));
                ProgressLine _ = progress(bucket, List.of(bulk.traffic()::quiet))) {
            plan = bulk.compactor(target).plan(Set.copyOf(without));
            removal = bulk.remover(target).plan(grace);
        }
        heading(bucket, target, report);
        if (plan.isEmpty() && removal.removed() == 0) {
            report.line("nothing to do");
        }
        report.count(
                        "packed",
                        plan.folded(),
                        Units.entries(plan.folded(), plan.foldedBytes())
                                + " would be moved into packs")
                .data("packedBytes", plan.foldedBytes())
                .data("packs", plan.packs());
        add(
                report,
                "merged",
                plan.merged(),
                "pack",
                "of " + Units.count(plan.packs()) + " would be merged or rewritten");
        add(
                report,
                "lost",
                plan.lost(),
                "pack",
                "missing or damaged; one in each run would be dropped");
        add(report, "removed", removal.removed(), "object", "would be removed");
        addWaiting(plan.packed() + removal.waiting(), report);
        add(
                report,
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
    private boolean compact(BucketConfig.S3 bucket, String target, Report report)
            throws ConfigException, CompactionException, CommandFailedException {
        Optional<Path> directory = TierFactory.directory(stores.config());
        Optional<CompactionReport> compacted = Optional.empty();
        PackRemover.Removal removal;
        long adopted;
        try (BucketTier tier = TierFactory.bucket(bucket, directory);
                BulkBucket bulk = TierFactory.bulk(bucket, directory);
                ProgressLine progress =
                        progress(bucket, List.of(tier.traffic()::quiet, bulk.traffic()::quiet))) {
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
                        bytes -> progress.passing(Units.bytes(bytes)));
            }
            if (compacted.isEmpty()) {
                throw new CommandFailedException(
                        "other writers were faster " + MAX_ATTEMPTS + " times; try again");
            }
            removal = bulk.remover(target).run(grace);
        }
        heading(bucket, target, report);
        add(report, "adopted", adopted, "pack", "adopted");
        CompactionReport done = compacted.get();
        add(bucket, done, removal, report);
        leftOut += done.leftOut();
        return done.lostPacks().isEmpty()
                && done.unremoved() + removal.unremoved() == 0
                && done.damagedKeys().isEmpty()
                && done.unread() == 0
                && (done.gone() == 0 || done.packed() > 0);
    }

    private static void add(
            BucketConfig.S3 bucket,
            CompactionReport done,
            PackRemover.Removal removal,
            Report report) {
        long removed = done.removed() + removal.removed();
        report.data("packed", done.packed())
                .data("packsWritten", done.written())
                .data("removed", removed)
                .line(Units.plural(done.packed(), "entry") + " in "
                        + Units.plural(done.written(), "new pack") + ", "
                        + Units.plural(removed, "object") + " removed");
        add(report, "leftOut", done.leftOut(), "entry", "left out of packs");
        addWaiting(done.waiting() + removal.waiting(), report);
        report.data("left", done.left());
        add(report, "tooLarge", done.tooLarge(), "entry", "left unpacked: too large for a pack");
        add(
                report,
                "otherVersion",
                done.otherVersion(),
                "entry",
                "left unpacked: written by another version of Granary");
        add(report, "unread", done.unread(), "entry", "left: cannot be read now; compact again");
        add(report, "gone", done.gone(), "entry", "listed, but removed meanwhile");
        addMore(done.isTruncated(), report);
        add(report, "lost", done.lost(), "entry", "lost: missing or damaged in their pack");
        report.data("lostPacks", done.lostPacks());
        if (!done.lostPacks().isEmpty()) {
            done.lostPacks().forEach(pack -> report.line("  pack " + pack));
            report.line("publish the kernels again, by populate; compact again: one pack with"
                    + " losses is dropped in each run");
        }
        add(
                report,
                "unremoved",
                done.unremoved() + removal.unremoved(),
                "object",
                "could not be removed; this needs s3:DeleteObject, and an age above --grace if the"
                        + " server ignores the condition of a deletion");
        // compaction removes no damaged object, since no pack has a copy
        add(
                report,
                "damaged",
                done.damagedKeys().size(),
                "entry",
                "left unpacked: damaged; remove the objects, or publish the kernels again:");
        List<String> damaged = done.damagedKeys().stream()
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

    /** Adds a count, with a line such as {@code 3 entries left out of packs} if it is not 0. */
    private static void add(Report report, String name, long count, String noun, String text) {
        report.count(name, count, Units.plural(count, noun) + " " + text);
    }

    private static void addWaiting(long objects, Report report) {
        add(
                report,
                "waiting",
                objects,
                "object",
                "not used any more: removed by a compact after the grace period");
    }

    private static void addMore(boolean isTruncated, Report report) {
        report.data("more", isTruncated);
        if (isTruncated) {
            report.line("there is more than one compaction takes; compact again");
        }
    }
}
