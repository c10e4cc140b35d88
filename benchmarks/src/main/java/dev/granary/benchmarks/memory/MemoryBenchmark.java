package dev.granary.benchmarks.memory;

import dev.granary.benchmarks.harness.BenchmarkCommand;
import dev.granary.benchmarks.harness.Goal;
import dev.granary.benchmarks.harness.Report;
import dev.granary.benchmarks.harness.ReportSection;
import dev.granary.benchmarks.harness.ReportSection.Column;

import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.ToDoubleFunction;

/**
 * {@code ./granary bench memory}: a hit in memory through all of Granary, and in its cache alone,
 * against a map.
 */
@Command(
        name = "granary bench memory",
        mixinStandardHelpOptions = true,
        description = "Measure hits in memory against ConcurrentHashMap.get.")
public final class MemoryBenchmark extends BenchmarkCommand {
    private static final int WARMUPS = 3;
    private static final int MOST_THREADS = 2;
    private static final double RATIO_GOAL = 1.4; // of the cache
    private static final double BYTES_GOAL = 0.5; // the profiler itself allocates
    // candidate and map take turns of a millisecond
    private static final int LEAST_MILLIS = 10;
    private static final Map<String, String> CANDIDATES = new LinkedHashMap<>();

    static {
        CANDIDATES.put("map", "another map");
        CANDIDATES.put("cache", "PrimitiveCache");
        CANDIDATES.put("granary", "Granary");
        CANDIDATES.put("listener", "with an event");
    }

    @Option(
            names = "--iterations",
            paramLabel = "N",
            defaultValue = "20",
            description =
                    "iterations of each candidate, after three that warm up;" + " ${DEFAULT-VALUE}")
    private int iterations;

    @Option(
            names = "--millis",
            paramLabel = "N",
            defaultValue = "250",
            description = "length of an iteration; ${DEFAULT-VALUE}")
    private int millis;

    /** Runs the benchmark and exits with 0, with 1 if it failed, or with 2 for wrong usage. */
    public static void main(String[] arguments) {
        System.exit(commandLine().execute(arguments));
    }

    static CommandLine commandLine() {
        return line(new MemoryBenchmark());
    }

    @Override
    protected String goalsTitle() {
        return "goals of the caches in memory";
    }

    @Override
    protected void measure() throws Exception {
        requireAtLeast("--iterations", iterations, 1);
        requireAtLeast("--millis", millis, LEAST_MILLIS);
        Report report = report(Map.of("iterations", iterations, "millis", millis));
        report.heading("512 keys of 200 characters, which equal those in the cache and are other"
                + " objects.");
        ReportSection section = new ReportSection(
                "hit",
                "a hit in memory",
                new Column("oneNanos", "1 thr ns", 1),
                new Column("oneRatio", "/ map", 2),
                new Column("twoNanos", "2 thr ns", 1),
                new Column("twoRatio", "/ map", 2),
                new Column("bytes", "bytes", 2));
        for (Map.Entry<String, String> candidate : CANDIDATES.entrySet()) {
            double[] nanos = new double[MOST_THREADS];
            double[] ratios = new double[MOST_THREADS];
            double bytes = 0;
            for (int threads = 1; threads <= MOST_THREADS; threads++) {
                RunResult result = run(candidate.getKey(), threads);
                nanos[threads - 1] = median(
                        result,
                        each -> count(each, "nanos")
                                / (count(each, "batches") * HitBenchmark.BATCH));
                ratios[threads - 1] = median(
                        result,
                        each -> count(each, "nanos")
                                / count(each, "batches")
                                / (count(each, "mapNanos") / count(each, "mapBatches")));
                bytes = Math.max(bytes, bytes(result));
                if (candidate.getKey().equals("cache")) {
                    section.goal(new Goal(
                            "PrimitiveCache / map, threads: " + threads,
                            Goal.Bound.AT_MOST,
                            RATIO_GOAL,
                            ratios[threads - 1]));
                }
            }
            section.row(candidate.getValue(), nanos[0], ratios[0], nanos[1], ratios[1], bytes);
            if (candidate.getKey().equals("granary")) {
                section.goal(new Goal(
                        "bytes that a hit of Granary allocates",
                        Goal.Bound.AT_MOST,
                        BYTES_GOAL,
                        bytes));
            }
        }
        section.note("/ map: against ConcurrentHashMap.get in every other millisecond of the same"
                + " JVM; medians of the iterations. The row of the map is a second one. Granary:"
                + " with a listener that leaves out hits in memory; with an event: with one that"
                + " receives them, whose queue is full, so most are dropped.");
        report.add(section);
    }

    private RunResult run(String candidate, int threads) throws RunnerException {
        progress().println(candidate + ", threads: " + threads);
        progress().flush();
        var options = new OptionsBuilder()
                .include(HitBenchmark.class.getName() + "\\.")
                .param("candidate", candidate)
                .threads(threads)
                .forks(1)
                // the JVM touches its heap at the start, so that page faults are not measured
                .jvmArgs(
                        "--enable-native-access=ALL-UNNAMED",
                        "--sun-misc-unsafe-memory-access=allow",
                        "-Xms1g",
                        "-Xmx1g",
                        "-XX:+AlwaysPreTouch")
                .warmupIterations(WARMUPS)
                .warmupTime(TimeValue.milliseconds(millis))
                .measurementIterations(iterations)
                .measurementTime(TimeValue.milliseconds(millis))
                .addProfiler(GCProfiler.class)
                .verbosity(VerboseMode.SILENT)
                .shouldFailOnError(true);
        return new Runner(options.build()).runSingle();
    }

    /** Returns the bytes that a hit allocates; those of the map allocate nothing. */
    private static double bytes(RunResult result) {
        double batches = sum(result, "batches");
        return Objects.requireNonNull(result.getSecondaryResults().get("gc.alloc.rate.norm"))
                        .getScore()
                * (batches + sum(result, "mapBatches"))
                / (batches * HitBenchmark.BATCH);
    }

    private static double sum(RunResult result, String counter) {
        return result.getBenchmarkResults().stream()
                .flatMap(one -> one.getIterationResults().stream())
                .mapToDouble(each -> count(each, counter))
                .sum();
    }

    private static double median(RunResult result, ToDoubleFunction<IterationResult> value) {
        double[] sorted = result.getBenchmarkResults().stream()
                .flatMap(one -> one.getIterationResults().stream())
                .mapToDouble(value)
                .sorted()
                .toArray();
        return sorted[sorted.length / 2];
    }

    /** Returns a counter of {@link HitBenchmark.Turns}, the sum over all threads. */
    private static double count(IterationResult iteration, String counter) {
        return Objects.requireNonNull(iteration.getSecondaryResults().get(counter), counter)
                .getScore();
    }
}
