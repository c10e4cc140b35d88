package dev.granary.benchmarks.emission;

import dev.granary.benchmarks.harness.BenchmarkCommand;
import dev.granary.benchmarks.harness.Goal;
import dev.granary.benchmarks.harness.Report;
import dev.granary.benchmarks.harness.ReportSection;

import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * {@code ./granary bench emission}: the time from the nest of a plan to its kernel in OpenCL C, as
 * the first work of a JVM and after warm-up. {@code docs/plans.md} has the figures.
 */
@Command(
        name = "granary bench emission",
        mixinStandardHelpOptions = true,
        description = "Measure the time from a kernel plan to its source.")
public final class EmissionBenchmark extends BenchmarkCommand {
    private static final int WARMUPS = 5;
    private static final double GOAL_MICROS = 5000;

    @Option(
            names = "--forks",
            paramLabel = "N",
            defaultValue = "5",
            description = "JVMs of each plan and state; ${DEFAULT-VALUE}")
    private int forks;

    @Option(
            names = "--millis",
            paramLabel = "N",
            defaultValue = "500",
            description = "length of an iteration; ${DEFAULT-VALUE}")
    private int millis;

    /** Runs the benchmark and exits with 0, with 1 if it failed, or with 2 for wrong usage. */
    public static void main(String[] arguments) {
        System.exit(commandLine().execute(arguments));
    }

    static CommandLine commandLine() {
        return line(new EmissionBenchmark());
    }

    @Override
    protected void measure() throws Exception {
        requireAtLeast("--forks", forks, 1);
        requireAtLeast("--millis", millis, 1);
        Report report = report(Map.of("forks", forks, "iterationMillis", millis));
        Map<String, Double> first = run(Mode.SingleShotTime, 0);
        Map<String, Double> warm = run(Mode.AverageTime, WARMUPS);
        ReportSection section = new ReportSection(
                "emission",
                "from the nest to the source, microseconds; forks: " + forks,
                new ReportSection.Column("first", "first of a JVM", 0),
                new ReportSection.Column("warm", "warm", 1));
        for (String plan : List.of("manual", "tiled")) {
            section.row(
                    plan,
                    Objects.requireNonNull(first.get(plan)),
                    Objects.requireNonNull(warm.get(plan)));
        }
        section.goal(new Goal(
                "microseconds of the manual's example, warm",
                Goal.Bound.AT_MOST,
                GOAL_MICROS,
                Objects.requireNonNull(warm.get("manual"))));
        section.note("first: the first plan of a JVM, with the loading of all its classes. Means.");
        report.add(section);
    }

    @Override
    protected String goalsTitle() {
        return "goals of the emission of plans";
    }

    /** Returns the mean time of each plan in microseconds. */
    private Map<String, Double> run(Mode mode, int warmups) throws RunnerException {
        var options = new OptionsBuilder()
                .include(EmittedPlans.class.getName() + "\\.")
                .mode(mode)
                .forks(forks)
                .warmupIterations(warmups)
                .warmupTime(TimeValue.milliseconds(millis))
                .measurementIterations(mode == Mode.SingleShotTime ? 1 : WARMUPS)
                .measurementTime(TimeValue.milliseconds(millis))
                .verbosity(VerboseMode.SILENT)
                .shouldFailOnError(true);
        Map<String, Double> means = new HashMap<>();
        for (RunResult result : new Runner(options.build()).run()) {
            means.put(
                    result.getPrimaryResult().getLabel(),
                    result.getPrimaryResult().getScore());
        }
        return means;
    }
}
