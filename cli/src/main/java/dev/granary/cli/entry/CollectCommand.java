package dev.granary.cli.entry;

import dev.granary.cache.support.PinStore;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.Converters;
import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
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
        description = "Show which entries of a bucket or shared directory no machine uses any more,"
                + " or, over a budget, are worth least; remove them with --delete. What is pinned"
                + " or younger than a day stays. May run beside everything else, and be stopped at"
                + " any time.")
public final class CollectCommand extends OutputCommand {
    @Mixin
    private PlaceOptions.Layer place = new PlaceOptions.Layer();

    @Option(
            names = "--unused",
            paramLabel = "AGE",
            defaultValue = CollectionPlan.UNUSED_DAYS + "d",
            converter = Converters.Age.class,
            description = "remove what has no noted use for that long, at least a day (default:"
                    + " ${DEFAULT-VALUE})")
    private Duration unused = Duration.ofDays(CollectionPlan.UNUSED_DAYS);

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
    protected boolean run(Report report) throws Exception {
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
        report.data("bucket", layer.name());
        try {
            if (layer instanceof BucketConfig.Directory shared) {
                collect(shared, report);
            } else {
                collect(layer, report);
            }
        } catch (IOException e) {
            throw new CommandFailedException(layer.name() + ": " + e.getMessage());
        }
        report.data("healthy", !report.hasProblems());
        return !report.hasProblems();
    }

    private void collect(BucketConfig bucket, Report report) throws Exception {
        try (BucketTier tier = place.open(bucket);
                BulkBucket bulk = tier.packed()) {
            if (isOfPins()) {
                pins(bulk.pins(), report);
                return;
            }
            report.line("in  " + bucket.name());
            Optional<String> obstacle = isDeleting ? tier.packObstacle() : Optional.empty();
            if (obstacle.isPresent()) {
                throw new CommandFailedException(obstacle.get());
            }
            BucketCollector collector = bulk.collector();
            CollectionPlan plan;
            try (ProgressLine progress = new ProgressLine(err(), "collecting", 0)) {
                progress.passing(() -> "reads " + (target.isEmpty() ? "all targets" : target));
                plan = collector.plan(rules());
            }
            if (isDeleting) {
                delete(tier, collector, plan, report);
            }
            for (CollectionPlan.Target each : plan.targets()) {
                each.failure()
                        .ifPresent(cause ->
                                report.problem(each.namespace() + " is not collected: " + cause));
            }
            add(plan, true, report);
        }
    }

    private void collect(BucketConfig.Directory shared, Report report) throws Exception {
        PinStore pins = TierFactory.shared(shared).pins();
        try (DirectoryPlace directory = Place.of(shared)) {
            if (isOfPins()) {
                pins(pins, report);
                return;
            }
            Place.requireEntries(directory);
            CollectionPlan plan =
                    CollectionPlan.of(directory.files, pins, rules(), System.currentTimeMillis());
            report.line("in  " + shared.name());
            if (isDeleting) {
                delete(directory, pins, plan, report);
            }
            add(plan, false, report);
        }
    }

    private boolean isOfPins() {
        return isListingPins || unpinned != null;
    }

    private void pins(PinStore pins, Report report) throws IOException {
        if (unpinned != null) {
            report.data("unpinned", unpinned);
            if (pins.remove(unpinned)) {
                report.line("pin " + unpinned + " removed");
            } else {
                report.problem("there is no pin " + unpinned);
            }
            return;
        }
        List<PinStore.Pin> all = new ArrayList<>();
        pins.read(all::add);
        report.table("pins", all)
                .column("name", PinStore.Pin::name)
                .column("entries", PinStore.Pin::entries)
                .column("written", pin -> Instant.ofEpochMilli(pin.writtenMillis()))
                .column("~targets", pin -> pin.ids().keySet());
    }

    private CollectionPlan.Rules rules() {
        return new CollectionPlan.Rules(
                target, unusedDays(), budget == null ? Long.MAX_VALUE : budget, isAll);
    }

    private int unusedDays() {
        return (int) unused.plusDays(1).minusNanos(1).toDays();
    }

    private void delete(DirectoryPlace directory, PinStore pins, CollectionPlan plan, Report report)
            throws IOException {
        List<String> failures = new ArrayList<>();
        try (ProgressLine progress = new ProgressLine(err(), "collecting", 0)) {
            for (CollectionPlan.Target each : plan.targets()) {
                progress.passing(() -> each.namespace());
                each.collect(pins, entry -> directory.remove(entry, failures));
            }
        }
        long unfinished =
                directory.files.removeUnfinished(Instant.now().minus(CollectionPlan.YOUNG));
        report.count("removedUnfinished", unfinished, "unfinished file", "removed");
        DirectoryPlace.addFailures(failures, report);
    }

    private void delete(
            BucketTier tier, BucketCollector collector, CollectionPlan plan, Report report) {
        BucketCollector.Outcome done;
        try (ProgressLine progress = new ProgressLine(err(), "collecting", 0)) {
            done = collector.collect(
                    plan,
                    tier.honoursConditionalDelete(),
                    (target, bytes) -> progress.passing(() -> target + " " + Units.bytes(bytes)));
        }
        if (!done.lostPacks().isEmpty()) {
            report.problem("packs missing or damaged: " + String.join(", ", done.lostPacks()));
        }
        long claims = collector.removeClaims(plan);
        long notes = 0;
        try {
            notes = collector.forgetNotes(plan);
        } catch (IOException e) {
            report.problem("old notes of use are not removed: " + e.getMessage());
        }
        report.count("removedObjects", done.removed(), "object", "removed")
                .count(
                        "waitingObjects",
                        done.waiting(),
                        "object",
                        "replaced; their bytes go in one of the next two runs, a day apart")
                .data("unremovedObjects", done.unremoved())
                .count("removedClaims", claims, "old claim", "removed")
                .count("removedNotes", notes, "old note", "of use removed");
        if (done.unremoved() > 0) {
            report.problem(Units.plural(done.unremoved(), "object") + " could not be removed; this"
                    + " needs s3:DeleteObject, and an age above a day");
        }
    }

    /**
     * Adds the plan to the report, with a problem if the budget is exceeded.
     *
     * @param isOfBucket false for a directory, which has no compile times and notes
     */
    private void add(CollectionPlan plan, boolean isOfBucket, Report report) {
        report.data("deleted", isDeleting);
        String compile = isOfBucket ? "compile" : "-compile";
        report.table("targets", plan.targets())
                .column("~target", CollectionPlan.Target::namespace)
                .column((isDeleting ? "left" : "leave") + ":leaving", each -> each.leaving()
                        .entries())
                .column(
                        "bytes:leavingBytes",
                        each -> Report.bytes(each.leaving().bytes()))
                .column(
                        compile + ":leavingCompileMillis",
                        each -> compileTime(each.leaving(), isOfBucket))
                .column("stay:staying", each -> each.staying().entries())
                .column(
                        "bytes:stayingBytes",
                        each -> Report.bytes(each.staying().bytes()))
                .column(
                        compile + ":stayingCompileMillis",
                        each -> compileTime(each.staying(), isOfBucket));
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
                        "note",
                        "of use not readable, which do not count");
        long excess = plan.excessBytes();
        report.data("excessBytes", excess);
        if (excess > 0) {
            report.problem("the entries that stay have " + Units.bytes(excess)
                    + " more than the budget: they are pinned or younger than a day");
        } else if (!isDeleting) {
            report.line("nothing was removed; --delete does it");
        }
    }

    private static Optional<Duration> compileTime(Sum sum, boolean isKnown) {
        return isKnown ? Optional.of(Duration.ofNanos(sum.compileNanos())) : Optional.empty();
    }

    private static void add(String name, Sum sum, String text, Report report) {
        report.data(name, sum.entries());
        if (sum.entries() > 0) {
            report.line(Units.entries(sum.entries(), sum.bytes()) + " " + text);
        }
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
