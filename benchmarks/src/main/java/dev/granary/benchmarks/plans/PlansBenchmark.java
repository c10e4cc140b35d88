package dev.granary.benchmarks.plans;

import dev.granary.benchmarks.harness.BenchmarkCommand;
import dev.granary.benchmarks.harness.Goal;
import dev.granary.benchmarks.harness.Report;
import dev.granary.benchmarks.harness.ReportSection;
import dev.granary.benchmarks.harness.ReportSection.Column;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClDevice;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.plans.tuning.PlanSpace;
import dev.granary.plans.tuning.PlanTuner;
import dev.granary.plans.tuning.PlanTuner.TuningSettings;
import dev.granary.plans.tuning.TunedPlan;
import dev.granary.plans.tuning.TunedPlan.TuningDescriptor;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * Benchmark of kernel plans for products of matrices: plans written by hand, and one that is tuned
 * at the start, in relation to the naive kernel of the device. All kernels of a shape take turns.
 */
@Command(
        name = "plans",
        mixinStandardHelpOptions = true,
        description = "Compare kernel plans with the naive kernel of the device.")
public final class PlansBenchmark extends BenchmarkCommand {
    private static final String NAIVE = "naive";
    private static final String TUNED = "tuned";
    private static final double LEAST_OF_NAIVE = 2;

    private static final List<ProductPlans> SHAPES = List.of(
            new ProductPlans(128, 128, 128),
            new ProductPlans(256, 256, 256),
            new ProductPlans(512, 512, 512),
            new ProductPlans(127, 251, 311));

    @Option(
            names = "--budget",
            paramLabel = "SECONDS",
            defaultValue = "120",
            description = "time for tuning each shape; ${DEFAULT-VALUE}, at most 600 in total make"
                    + " the goal")
    private int budget;

    @Option(
            names = "--rounds",
            paramLabel = "N",
            defaultValue = "21",
            description = "rounds in which all kernels take turns; ${DEFAULT-VALUE}")
    private int rounds;

    /** Runs the benchmark. */
    public static void main(String[] arguments) {
        System.exit(line(new PlansBenchmark()).execute(arguments));
    }

    @Override
    protected String goalsTitle() {
        return "goals";
    }

    @Override
    protected void measure() throws Exception {
        requireAtLeast("--budget", budget, 1);
        requireAtLeast("--rounds", rounds, 1);
        OpenClDevice device = OpenCl.devices().stream()
                .findFirst()
                .orElseThrow(() -> wrong(
                        "there is no OpenCL device; on Debian: apt-get install pocl-opencl-icd"));
        Report report = report(Map.of("seed", seed(), "budget", budget, "rounds", rounds));
        report.heading(
                "Device: " + device,
                "Times are medians; ratios are medians of the ratios of each round.");
        try (OpenClEngine engine = OpenClEngine.open(device)) {
            for (ProductPlans shape : SHAPES) {
                report.add(section(engine, shape));
            }
        }
    }

    private ReportSection section(OpenClEngine engine, ProductPlans shape) throws Exception {
        PlanSpace space = shape.space();
        PlanTuner tuner = PlanTuner.of(
                        engine,
                        engine.device().limits(),
                        TuningSettings.of(Duration.ofSeconds(budget), seed()))
                .listener((_, _, counts) -> {
                    if (counts.tried() % 50 == 0) {
                        progress().println(shape + ": " + counts + " of " + space.size());
                        progress().flush();
                    }
                });
        TunedPlan tuned = tuner.create(TuningDescriptor.of(space, tuner.target()));
        try (ProductTurns turns = new ProductTurns(engine, shape, seed())) {
            turns.add(NAIVE, space.naive());
            for (var plan : shape.byHand().entrySet()) {
                turns.add(plan.getKey(), plan.getValue());
            }
            turns.add(TUNED, tuned.plan());
            Map<String, double[]> times = turns.measure(rounds);
            ReportSection section = new ReportSection(
                    shape.toString(),
                    "C += A * B, " + shape,
                    new Column("milliseconds", "ms", 3),
                    new Column("gigaflops", "GFLOP/s", 1),
                    new Column("toNaive", "x naive", 2));
            times.forEach((name, nanos) -> section.row(
                    name,
                    ProductTurns.median(nanos) / 1e6,
                    shape.operations() / ProductTurns.median(nanos),
                    ProductTurns.ratio(times, NAIVE, name)));
            section.goal(new Goal(
                    "tuned, speed in relation to the naive plan, " + shape,
                    Goal.Bound.AT_LEAST,
                    LEAST_OF_NAIVE,
                    ProductTurns.ratio(times, NAIVE, TUNED)));
            section.note("tuned: " + tuned.outcome().parameters() + "; tried "
                    + tuned.outcome().counts().tried() + " of " + space.size() + " plans in "
                    + tuned.outcome().elapsed().toSeconds() + " s");
            return section;
        }
    }
}
