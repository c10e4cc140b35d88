package dev.granary.cli.operation;

import dev.granary.cache.support.PinStore;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.Converters;
import dev.granary.cli.option.LayerOptions;
import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.ReportTable;
import dev.granary.cli.output.Units;
import dev.granary.cli.place.DirectoryPlace;
import dev.granary.cli.place.Place;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.s3.BucketCollector;
import dev.granary.s3.BucketTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.CollectionPlan;
import dev.granary.s3.CollectionPlan.Sum;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/** {@code granary collect}: removes entries that no machine uses from a layer. */
@Command(
        name = "collect",
        description = "Show which entries of a bucket or shared directory no machine uses any more,"
                + " or, over a budget, are worth least; remove them with --delete. What is pinned"
                + " or younger than a day stays. May run beside everything else, and be stopped at"
                + " any time.")
public final class CollectCommand extends OutputCommand {
    @Mixin
    private LayerOptions place = new LayerOptions();

    @Option(
            names = "--unused",
            paramLabel = "AGE",
            defaultValue = "90d",
            converter = Converters.Age.class,
            description = "remove what has no noted use for that long, at least a day (default:"
                    + " ${DEFAULT-VALUE})")
    private Duration unused = Duration.ofDays(90);

    @Option(
            names = "--budget",
            paramLabel = "SIZE",
            converter = Converters.Size.class,
            description = "then remove entries with the least compile time x uses / bytes, of a"
                    + " directory the least recently used, until the rest has that size, such as"
                    + " 50GiB")
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
        if (isOfPins() && (isDeleting || isAll || budget != null)) {
            throw new ConfigException("--pins and --unpin collect nothing; give them alone");
        }
        if (unpinned != null && !unpinned.matches(PinStore.NAME)) {
            throw new ConfigException("--unpin " + unpinned + " is not the name of a pin");
        }
        BucketConfig layer = place.layer();
        Report report = report().data("bucket", layer.name());
        try {
            boolean isHealthy = layer instanceof BucketConfig.Directory shared
                    ? inDirectory(shared, report)
                    : inBucket(layer, report);
            report.data("healthy", isHealthy).print();
            return isHealthy ? 0 : 1;
        } catch (IOException e) {
            throw new CommandFailedException(layer.name() + ": " + e.getMessage());
        }
    }

    private boolean inBucket(BucketConfig bucket, Report report) throws Exception {
        try (BucketTier tier = place.open(bucket);
                BulkBucket bulk = tier.packed()) {
            if (isOfPins()) {
                return pins(bulk.pins(), report);
            }
            report.line("in  " + bucket.name());
            Optional<String> obstacle = isDeleting ? tier.packObstacle() : Optional.empty();
            if (obstacle.isPresent()) {
                throw new CommandFailedException(obstacle.get());
            }
            BucketCollector collector = bulk.collector();
            CollectionPlan plan;
            try (ProgressLine progress = new ProgressLine(err(), "collecting", 0)) {
                progress.passing("reads " + (target.isEmpty() ? "all targets" : target));
                plan = collector.plan(rules());
            }
            boolean isHealthy = !isDeleting || delete(tier, collector, plan, report);
            for (CollectionPlan.Target each : plan.targets()) {
                if (each.failure().isPresent()) {
                    report.problem(each.namespace() + " is not collected: "
                            + each.failure().get());
                    isHealthy = false;
                }
            }
            return add(plan, true, report) && isHealthy;
        }
    }

    private boolean inDirectory(BucketConfig.Directory shared, Report report) throws Exception {
        PinStore pins = TierFactory.shared(shared).pins();
        try (DirectoryPlace directory = Place.of(shared)) {
            if (isOfPins()) {
                return pins(pins, report);
            }
            Place.requireEntries(directory);
            CollectionPlan plan =
                    CollectionPlan.of(directory.files(), pins, rules(), System.currentTimeMillis());
            report.line("in  " + shared.name());
            boolean isHealthy = !isDeleting || delete(directory, pins, plan, report);
            return add(plan, false, report) && isHealthy;
        }
    }

    /** Removes what leaves; returns false if something could not be removed. */
    private boolean delete(
            DirectoryPlace directory, PinStore pins, CollectionPlan plan, Report report)
            throws IOException {
        List<String> failures = new ArrayList<>();
        try (ProgressLine progress = new ProgressLine(err(), "collecting", 0)) {
            for (CollectionPlan.Target each : plan.targets()) {
                progress.passing(each.namespace());
                each.collect(pins, entry -> directory.remove(entry, failures));
            }
        }
        long unfinished =
                directory.files().removeUnfinished(Instant.now().minus(CollectionPlan.YOUNG));
        report.count(
                "removedUnfinished",
                unfinished,
                Units.plural(unfinished, "unfinished file") + " removed");
        DirectoryPlace.addFailures(failures, report);
        return failures.isEmpty();
    }

    private boolean isOfPins() {
        return isListingPins || unpinned != null;
    }

    private boolean pins(PinStore pins, Report report) throws IOException {
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

    private CollectionPlan.Rules rules() {
        return new CollectionPlan.Rules(
                target, unusedDays(), budget == null ? Long.MAX_VALUE : budget, isAll);
    }

    /** Returns the number of days, rounded up. */
    private int unusedDays() {
        return (int) unused.plusDays(1).minusNanos(1).toDays();
    }

    /** Removes what leaves; returns false if something that was to leave is still there. */
    private boolean delete(
            BucketTier tier, BucketCollector collector, CollectionPlan plan, Report report) {
        BucketCollector.Outcome done;
        try (ProgressLine progress = new ProgressLine(err(), "collecting", 0)) {
            done = collector.collect(
                    plan,
                    tier.honoursConditionalDelete(),
                    (target, bytes) -> progress.passing(target + " " + Units.bytes(bytes)));
        }
        boolean isHealthy = done.lostPacks().isEmpty();
        if (!isHealthy) {
            report.problem("packs missing or damaged: " + String.join(", ", done.lostPacks()));
        }
        long claims = collector.removeClaims(plan);
        long notes = 0;
        try {
            notes = collector.forgetNotes(plan);
        } catch (IOException e) {
            report.problem("old notes of use are not removed: " + e.getMessage());
            isHealthy = false;
        }
        report.count(
                        "removedObjects",
                        done.removed(),
                        Units.plural(done.removed(), "object") + " removed")
                .count(
                        "waitingObjects",
                        done.waiting(),
                        Units.plural(done.waiting(), "object")
                                + " replaced; their bytes go in one of the next two runs, a day"
                                + " apart")
                .data("unremovedObjects", done.unremoved())
                .count("removedClaims", claims, Units.plural(claims, "old claim") + " removed")
                .count("removedNotes", notes, Units.plural(notes, "old note") + " of use removed");
        if (done.unremoved() > 0) {
            report.problem(Units.plural(done.unremoved(), "object") + " could not be removed; this"
                    + " needs s3:DeleteObject, and an age above a day");
            isHealthy = false;
        }
        return isHealthy;
    }

    /**
     * Adds the plan to the report; returns false if the budget is exceeded.
     *
     * @param isOfBucket false for a directory, which has no compile times and notes
     */
    private boolean add(CollectionPlan plan, boolean isOfBucket, Report report) {
        report.data("deleted", isDeleting);
        String compile = isOfBucket ? "compile" : "-compile";
        ReportTable table = report.table(
                "targets",
                "~target",
                (isDeleting ? "left" : "leave") + ":leaving",
                "bytes:leavingBytes",
                compile + ":leavingCompileMillis",
                "stay:staying",
                "bytes:stayingBytes",
                compile + ":stayingCompileMillis");
        for (CollectionPlan.Target each : plan.targets()) {
            Sum leaving = each.leaving();
            Sum staying = each.staying();
            table.row(
                    each.namespace(),
                    leaving.entries(),
                    Report.bytes(leaving.bytes()),
                    compileTime(leaving, isOfBucket),
                    staying.entries(),
                    Report.bytes(staying.bytes()),
                    compileTime(staying, isOfBucket));
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
        add("pinned", sum(plan, CollectionPlan.Target::pinned), "stay as pinned", report);
        Sum young = sum(plan, CollectionPlan.Target::young);
        add("young", young, "stay, younger than a day", report);
        Sum over = sum(plan, CollectionPlan.Target::overBudget);
        add("overBudget", over, "of those that leave are over the budget", report);
        if (isOfBucket && !isAll) {
            addKnown(plan, report);
        }
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

    private static Optional<Duration> compileTime(Sum sum, boolean isKnown) {
        return isKnown ? Optional.of(Duration.ofNanos(sum.compileNanos())) : Optional.empty();
    }

    private static void add(String name, Sum sum, String text, Report report) {
        report.count(name, sum.entries(), Units.entries(sum.entries(), sum.bytes()) + " " + text);
    }

    private void addKnown(CollectionPlan plan, Report report) {
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
