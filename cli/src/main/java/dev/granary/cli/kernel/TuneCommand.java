package dev.granary.cli.kernel;

import dev.granary.cache.CompileException;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.DeviceOption;
import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.option.StoreOptions;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.LookupResult;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.plans.file.PlanFile;
import dev.granary.plans.tuning.PlanSpace;
import dev.granary.plans.tuning.PlanTuner;
import dev.granary.plans.tuning.PlanTuner.TuningSettings;
import dev.granary.plans.tuning.PlanTuner.TuningTrial;
import dev.granary.plans.tuning.PlanTuner.Verdict;
import dev.granary.plans.tuning.TunedPlan;
import dev.granary.plans.tuning.TunedPlan.TuningOutcome;
import dev.granary.plans.tuning.TunedPlans;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;

/**
 * {@code granary tune}: gets the best plan of a space through the cache, and tries plans if no tier
 * has an outcome. The kernel of the plan is stored and published with it.
 */
@Command(
        description = {
            "Get the best plan of the space in FILE through the cache; if no tier has one, try"
                    + " plans on the device. Stores and publishes the outcome and the kernel."
        })
public final class TuneCommand extends OutputCommand {
    @Mixin
    private StoreOptions stores = new StoreOptions();

    private static final int MAX_SEED = 1_000_000_000;
    private static final double PERCENT = 100;

    @Parameters(paramLabel = "FILE", description = "a plan in TOML, with a table [space]")
    private Path file = Path.of("");

    @Mixin
    private DeviceOption device = new DeviceOption();

    @Option(
            names = "--budget",
            paramLabel = "SECONDS",
            defaultValue = "120",
            description = "the time after which no further plan is tried (default:"
                    + " ${DEFAULT-VALUE})")
    private int budget;

    @Option(
            names = "--patience",
            paramLabel = "N",
            defaultValue = "400",
            description = "stop after N plans without an improvement (default: ${DEFAULT-VALUE})")
    private int patience;

    @Option(
            names = "--seed",
            paramLabel = "N",
            description = "decides the order of the plans; default: a random number, printed")
    private @Nullable Long seed;

    @Option(
            names = "--again",
            description = "try plans even if a tier has an outcome; the better one stays")
    private boolean isAgain;

    @Option(names = "--show", description = "show the stored outcome; never try a plan")
    private boolean isShowing;

    @Option(
            names = "--publish",
            description = "publish the stored outcome, with its kernel; never try a plan")
    private boolean isPublishing;

    @Option(
            names = "--upload-limit",
            paramLabel = "SECONDS",
            defaultValue = "60",
            description = "how long to wait for uploads (default: ${DEFAULT-VALUE})")
    private int uploadLimit;

    private @Nullable Duration least; // time of a launch

    @Override
    protected boolean run(Report report) throws Exception {
        if (budget <= 0 || patience <= 0 || uploadLimit <= 0) {
            throw new ConfigException(
                    "--budget, --patience and --upload-limit must be positive numbers");
        }
        if (isAgain && (isShowing || isPublishing)) {
            throw new ConfigException(
                    "--again tries plans, --show and --publish never do; give one of them");
        }
        PlanSpace space = PlanFile.readSpace(file);
        GranaryConfig config = stores.builder().build();
        Optional<BucketConfig> bucket = StoreOptions.writable(config);
        if (isPublishing && bucket.isEmpty()) {
            throw new ConfigException("No writable bucket is configured, and --publish needs one;"
                    + " give --bucket or set GRANARY_BUCKET.");
        }
        Publications published = new Publications();
        try (OpenClEngine engine = OpenClEngine.open(device.selection().oneOfOpenCl());
                Granary granary =
                        Granary.builder().config(config).published(published).open()) {
            long start = System.nanoTime();
            Chosen chosen = isShowing || isPublishing
                    ? stored(granary, engine, space)
                    : chosen(granary, engine, space);
            Duration took = Duration.ofNanos(System.nanoTime() - start);
            TunedPlan tuned = chosen.plan();
            KernelDescriptor kernel =
                    tuned.plan().descriptor(engine.target(), engine.device().limits());
            report.data("kernel", space.nest().name());
            add(report, tuned);
            report.field("from", chosen.from()).field("took:tookMillis", took);
            report.field("kernel:kernelId", kernel.getId().hash());
            if (!isShowing) {
                OpenCl.expectLaunches(List.of(tuned.plan().geometry()));
                report.field(
                        "kernel from", Outcome.of(granary.lookup(engine, kernel).source()));
                if (isPublishing) {
                    granary.publish(tuned.descriptor().getId());
                    granary.publish(kernel.getId());
                }
                boolean isFlushed;
                try (ProgressLine progress = new ProgressLine(err(), "publishing", 0)) {
                    progress.passing(() -> kernel.name());
                    isFlushed = granary.flush(Duration.ofSeconds(uploadLimit));
                }
                if (!isFlushed && bucket.isPresent()) {
                    report.problem(
                            "not published: no answer from " + bucket.get().name() + " within "
                                    + uploadLimit + " s (--upload-limit)");
                }
            }
            published.causes().keySet().forEach(cause -> report.problem("not published: " + cause));
            return !report.hasProblems();
        } catch (CompileException e) {
            throw new CommandFailedException(String.valueOf(e.getMessage()));
        }
    }

    /** The plan, and the word for where it is from. */
    private record Chosen(TunedPlan plan, String from) {}

    private static void add(Report report, TunedPlan tuned) {
        TuningOutcome outcome = tuned.outcome();
        double spread = (double) outcome.spreadPpb() / outcome.ratioPpb();
        report.table("", outcome.parameters().values().entrySet())
                .column("parameter", Map.Entry::getKey)
                .column("<value", Map.Entry::getValue);
        report.data("parameters", outcome.parameters().values())
                .line("")
                .field(
                        "time:nanos",
                        outcome.time().toNanos(),
                        Units.time(outcome.time()) + ", the naive kernel "
                                + Units.time(outcome.naiveTime()))
                .data("naiveNanos", outcome.naiveTime().toNanos())
                .field(
                        "speedup",
                        outcome.speedup(),
                        String.format(
                                Locale.ROOT,
                                "%.2f, spread %.1f %% in %d rounds",
                                outcome.speedup(),
                                PERCENT * spread,
                                outcome.rounds()))
                .data("spread", spread)
                .data("rounds", outcome.rounds())
                .field(
                        "tried:points",
                        outcome.points(),
                        Units.count(outcome.counts().tried()) + " of "
                                + Units.plural(outcome.points(), "plan") + " in "
                                + Units.time(outcome.elapsed()) + ", seed " + outcome.seed())
                .line("           " + outcome.counts());
        outcome.counts()
                .byVerdict()
                .forEach((verdict, count) -> report.data(verdict.toString(), count));
        report.data("seed", outcome.seed())
                .data("elapsedMillis", outcome.elapsed())
                .field("revision", tuned.descriptor().revision())
                .field("outcome:outcomeId", tuned.descriptor().getId().hash());
    }

    private static Chosen stored(Granary granary, OpenClEngine engine, PlanSpace space) {
        TunedPlan plan = new TunedPlans(granary)
                .find(space, engine.target())
                .orElseThrow(() -> new CommandFailedException(
                        "no tier has an outcome for this space and " + engine.device()
                                + "; granary tune without --show and --publish makes one"));
        return new Chosen(plan, "stored");
    }

    private Chosen chosen(Granary granary, OpenClEngine engine, PlanSpace space)
            throws CompileException {
        long order = seed == null ? new SplittableRandom().nextInt(MAX_SEED) : seed;
        TuningSettings settings =
                TuningSettings.of(Duration.ofSeconds(budget), order).patience(patience);
        try (ProgressLine progress = new ProgressLine(err(), "tuning", space.size())) {
            PlanTuner tuner = PlanTuner.of(engine, engine.device().limits(), settings)
                    .listener((values, trial, counts) ->
                            progress.at(counts.tried() - 1, best(trial) + ", " + values));
            if (isAgain) {
                TunedPlan plan = new TunedPlans(granary).tuneAgain(tuner, space);
                return new Chosen(
                        plan, plan.origin() == TunedPlan.Origin.COMPILED ? "tuned" : "kept");
            }
            LookupResult<TunedPlan> result = new TunedPlans(granary).lookup(tuner, space);
            return new Chosen(
                    result.primitive(),
                    result.source() == PrimitiveSource.COMPILED
                            ? "tuned"
                            : Outcome.of(result.source()).toString());
        }
    }

    /** Returns the least time of a launch so far. */
    private String best(TuningTrial trial) {
        if (trial.verdict() == Verdict.MEASURED
                && (least == null || trial.time().compareTo(least) < 0)) {
            least = trial.time();
        }
        return least == null ? "none measured" : "best " + Units.time(least);
    }
}
