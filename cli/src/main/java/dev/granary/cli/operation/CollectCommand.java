package dev.granary.cli.operation;

import dev.granary.cli.option.BucketOptions;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.Converters;
import dev.granary.cli.option.LocalOptions;
import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.ReportTable;
import dev.granary.cli.output.Units;
import dev.granary.cli.place.Place;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.s3.BucketCollector;
import dev.granary.s3.BucketPins;
import dev.granary.s3.BucketTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.CollectionPlan;
import dev.granary.s3.CollectionPlan.Sum;
import dev.granary.s3.pack.compact.CompactionException;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.Optional;
import java.util.function.Function;

/** {@code granary collect}: removes entries that no machine uses from a bucket. */
@Command(
        name = "collect",
        description = "Show which entries of a bucket no machine uses any more, or, over a budget,"
                + " are worth least; remove them with --delete. What is pinned or younger than a"
                + " day stays. May run beside everything else, and be stopped at any time.")
public final class CollectCommand extends OutputCommand {
    @Parameters(
            arity = "0..1",
            paramLabel = "PLACE",
            description = "s3://NAME/PREFIX; default: the first writable bucket of GRANARY_BUCKET")
    private @Nullable String place;

    @Mixin
    private LocalOptions local = new LocalOptions();

    @Mixin
    private BucketOptions buckets = new BucketOptions();

    @Option(
            names = "--unused",
            paramLabel = "AGE",
            defaultValue = "90d",
            converter = Converters.Age.class,
            description = "remove what no note of use names for that long, at least a day (default:"
                    + " ${DEFAULT-VALUE})")
    private Duration unused = Duration.ofDays(90);

    @Option(
            names = "--budget",
            paramLabel = "SIZE",
            converter = Converters.Size.class,
            description = "then remove entries with the least compile time x uses / bytes until the"
                    + " rest has that size, such as 50GiB")
    private @Nullable Long budget;

    @Option(
            names = "--target",
            paramLabel = "PREFIX",
            description = "only targets, as ls shows them, that begin with PREFIX: opencl/nvidia")
    private String target = "";

    @Option(
            names = "--all",
            description = "remove all entries of these targets, used or not; needs --target")
    private boolean isAll;

    @Option(names = "--delete", description = "remove them; without it nothing is changed")
    private boolean isDeleting;

    @Option(names = "--pins", description = "list the pins, which populate --pin makes")
    private boolean isListingPins;

    @Option(names = "--unpin", paramLabel = "NAME", description = "remove a pin")
    private @Nullable String unpinned;

    @Override
    public Integer call() throws Exception {
        if (unused.toDays() < 1) {
            throw new ConfigException("--unused is at least 1d: machines note their uses by day");
        }
        if (isAll && (target.isEmpty() || budget != null)) {
            throw new ConfigException("--all needs --target, and no --budget");
        }
        if ((isListingPins || unpinned != null) && (isDeleting || isAll || budget != null)) {
            throw new ConfigException("--pins and --unpin collect nothing; give them alone");
        }
        if (unpinned != null && !unpinned.matches(BucketPins.NAME)) {
            throw new ConfigException("--unpin " + unpinned + " is not the name of a pin");
        }
        GranaryConfig config = buckets.set(local.builder()).build();
        BucketConfig.S3 bucket = Place.writableBucket(
                place,
                buckets.set(GranaryConfig.builder()),
                config,
                "which evict --older-than and --to keep in bounds");
        Report report = report().data("bucket", bucket.name());
        try (BucketTier tier = TierFactory.bucket(bucket, TierFactory.directory(config));
                BulkBucket bulk = tier.packed()) {
            boolean isOfPins = isListingPins || unpinned != null;
            boolean isHealthy = isOfPins
                    ? pins(bulk.pins(), report)
                    : collect(tier, bulk.collector(), report.line("in  " + bucket.name()));
            report.data("healthy", isHealthy).print();
            return isHealthy ? 0 : 1;
        } catch (IOException e) {
            throw new CommandFailedException(bucket.name() + ": " + e.getMessage());
        }
    }

    private boolean pins(BucketPins pins, Report report) throws IOException {
        if (unpinned != null) {
            boolean isRemoved = pins.remove(unpinned);
            report.data("unpinned", unpinned);
            if (isRemoved) {
                report.line("pin " + unpinned + " removed");
            } else {
                report.problem("there is no pin " + unpinned);
            }
            return isRemoved;
        }
        ReportTable table = report.table("pins", "name", "entries", "written", "~targets");
        pins.read(pin -> {
            Instant written = Instant.ofEpochMilli(pin.writtenMillis());
            table.row(pin.name(), pin.entries(), written, pin.ids().keySet());
        });
        return true;
    }

    private boolean collect(BucketTier tier, BucketCollector collector, Report report)
            throws IOException, CommandFailedException {
        if (isDeleting) {
            Optional<String> obstacle = tier.packObstacle();
            if (obstacle.isPresent()) {
                throw new CommandFailedException(obstacle.get());
            }
        }
        CollectionPlan.Rules rules = new CollectionPlan.Rules(
                target, unusedDays(), budget == null ? Long.MAX_VALUE : budget, isAll);
        CollectionPlan plan;
        try (ProgressLine progress = new ProgressLine(err(), "collecting", 0)) {
            progress.passing("reads " + (target.isEmpty() ? "all targets" : target));
            plan = collector.plan(rules);
        }
        boolean isHealthy = failures(plan, report);
        if (isDeleting) {
            isHealthy &= delete(tier, collector, plan, report);
        }
        return add(plan, report) && isHealthy;
    }

    /** Returns the number of days, rounded up. */
    private int unusedDays() {
        return (int) unused.plusDays(1).minusNanos(1).toDays();
    }

    private static boolean failures(CollectionPlan plan, Report report) {
        plan.targets().forEach(each -> each.failure()
                .ifPresent(
                        cause -> report.problem(each.namespace() + " is not collected: " + cause)));
        return plan.targets().stream().allMatch(each -> each.failure().isEmpty());
    }

    /** Removes what leaves; returns false if something that was to leave is still there. */
    private boolean delete(
            BucketTier tier, BucketCollector collector, CollectionPlan plan, Report report) {
        boolean isHealthy = true;
        long removed = 0;
        long unremoved = 0;
        long waiting = 0;
        for (CollectionPlan.Target each : plan.targets()) {
            if (!each.hasWork()) {
                continue;
            }
            String failure;
            try (ProgressLine progress = new ProgressLine(err(), "collecting", 0)) {
                BucketCollector.Outcome done = collector.collect(
                        plan,
                        each,
                        tier.honoursConditionalDelete(),
                        bytes -> progress.passing(each.namespace() + " " + Units.bytes(bytes)));
                removed += done.removed();
                unremoved += done.unremoved();
                waiting += done.waiting();
                failure = done.lostPacks().isEmpty()
                        ? ""
                        : "packs missing or damaged: " + String.join(", ", done.lostPacks());
            } catch (IOException | CompactionException e) {
                failure = "not collected: " + e.getMessage();
                each.keep();
            }
            if (!failure.isEmpty()) {
                report.problem(each.namespace() + ": " + failure);
                isHealthy = false;
            }
        }
        long claims = collector.removeClaims(plan);
        long notes = 0;
        try {
            notes = collector.forgetNotes(plan);
        } catch (IOException e) {
            report.problem("old notes of use are not removed: " + e.getMessage());
            isHealthy = false;
        }
        report.count("removedObjects", removed, Units.plural(removed, "object") + " removed")
                .count(
                        "waitingObjects",
                        waiting,
                        Units.plural(waiting, "object") + " replaced; their bytes go in one of the"
                                + " next two runs, a day apart")
                .data("unremovedObjects", unremoved)
                .count("removedClaims", claims, Units.plural(claims, "old claim") + " removed")
                .count("removedNotes", notes, Units.plural(notes, "old note") + " of use removed");
        if (unremoved > 0) {
            report.problem(Units.plural(unremoved, "object") + " could not be removed; this needs"
                    + " s3:DeleteObject, and an age above a day");
            isHealthy = false;
        }
        return isHealthy;
    }

    /** Adds the plan to the report; returns false if the budget is exceeded. */
    private boolean add(CollectionPlan plan, Report report) {
        report.data("deleted", isDeleting);
        ReportTable table = report.table(
                "targets",
                "~target",
                (isDeleting ? "left" : "leave") + ":leaving",
                "bytes:leavingBytes",
                "compile:leavingCompileMillis",
                "stay:staying",
                "bytes:stayingBytes",
                "compile:stayingCompileMillis");
        for (CollectionPlan.Target each : plan.targets()) {
            Sum leaving = each.leaving();
            Sum staying = each.staying();
            table.row(
                    each.namespace(),
                    leaving.entries(),
                    Report.bytes(leaving.bytes()),
                    Duration.ofNanos(leaving.compileNanos()),
                    staying.entries(),
                    Report.bytes(staying.bytes()),
                    Duration.ofNanos(staying.compileNanos()));
        }
        Sum leaving = sum(plan, CollectionPlan.Target::leaving);
        Sum staying = sum(plan, CollectionPlan.Target::staying);
        report.data("leaving", leaving.entries())
                .data("leavingBytes", leaving.bytes())
                .data("staying", staying.entries())
                .data("stayingBytes", staying.bytes())
                .line(Units.entries(leaving.entries(), leaving.bytes())
                        + (isDeleting ? " left, " : " would leave, ")
                        + Units.entries(staying.entries(), staying.bytes()) + " stay");
        addStaying("pinned", sum(plan, CollectionPlan.Target::pinned), "stay as pinned", report);
        addStaying(
                "young",
                sum(plan, CollectionPlan.Target::young),
                "stay, younger than a day",
                report);
        Sum over = sum(plan, CollectionPlan.Target::overBudget);
        report.count(
                "overBudget",
                over.entries(),
                Units.entries(over.entries(), over.bytes())
                        + " of those that leave are over the budget");
        addKnown(plan, report);
        report.data("oldClaims", plan.claims())
                .count(
                        "ignoredNotes",
                        plan.ignoredNotes(),
                        Units.plural(plan.ignoredNotes(), "note") + " of use not readable, which"
                                + " do not count");
        long excess = plan.excessBytes();
        report.data("excessBytes", excess);
        if (excess > 0) {
            report.problem("the entries that stay have " + Units.bytes(excess)
                    + " more than the budget: they are pinned or younger than a day");
        } else if (!isDeleting) {
            report.line("nothing was removed; --delete does it");
        }
        return excess == 0;
    }

    private static void addStaying(String name, Sum sum, String text, Report report) {
        report.count(name, sum.entries(), Units.entries(sum.entries(), sum.bytes()) + " " + text);
    }

    private void addKnown(CollectionPlan plan, Report report) {
        if (isAll) {
            return;
        }
        Optional<LocalDate> knownFrom = plan.firstNote().map(day -> day.plusDays(unusedDays()));
        report.data("firstNote", plan.firstNote())
                .data("knownFrom", knownFrom)
                .data("knowsUnused", plan.knowsUnused());
        if (!plan.knowsUnused()) {
            report.line(knownFrom
                    .map(day -> "what is unused is known from " + day
                            + " on: notes of use begin on " + plan.firstNote().get())
                    .orElse("what is unused is not known: no machine has noted its uses yet"));
        }
    }

    private static Sum sum(CollectionPlan plan, Function<CollectionPlan.Target, Sum> part) {
        return plan.targets().stream().map(part).reduce(Sum.NONE, Sum::plus);
    }
}
