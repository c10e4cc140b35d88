package dev.granary.benchmarks.memory;

import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;

/** Runner of the methods of a benchmark class, each in its own JVM. */
final class JmhRunner {
    private static final int WARMUPS = 3;
    private static final int QUARTERS = 4;
    private static final String ALLOCATED = "gc.alloc.rate.norm";

    private final MemorySettings settings;

    JmhRunner(MemorySettings settings) {
        this.settings = settings;
    }

    /** Returns the results of all methods, by name. */
    Map<String, RunResult> run(Class<?> benchmark, int threads, Map<String, String> parameters)
            throws RunnerException {
        var options = new OptionsBuilder()
                .include(benchmark.getName() + "\\.")
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
                .warmupTime(TimeValue.milliseconds(settings.iterationMillis()))
                .measurementIterations(settings.iterations())
                .measurementTime(TimeValue.milliseconds(settings.iterationMillis()))
                .addProfiler(GCProfiler.class)
                .verbosity(VerboseMode.SILENT)
                .shouldFailOnError(true);
        parameters.forEach(options::param);
        Map<String, RunResult> results = new HashMap<>();
        for (RunResult result : new Runner(options.build()).run()) {
            results.put(result.getPrimaryResult().getLabel(), result);
        }
        return results;
    }

    /** Returns the counted iterations. */
    static Stream<IterationResult> iterations(RunResult result) {
        return result.getBenchmarkResults().stream()
                .flatMap(one -> one.getIterationResults().stream());
    }

    /** Returns the bytes that a call of the method allocates; NaN if they are unknown. */
    static double bytes(RunResult result) {
        Result<?> bytes = result.getSecondaryResults().get(ALLOCATED);
        return bytes == null ? Double.NaN : bytes.getScore();
    }

    /**
     * Returns the lower quartile: other work on the machine makes a measurement slower, never
     * faster. NaN without values.
     */
    static double undisturbed(double... values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted.length == 0 ? Double.NaN : sorted[sorted.length / QUARTERS];
    }

    /** Returns the median; NaN without values. */
    static double median(double... values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        int half = sorted.length / 2;
        return sorted.length == 0
                ? Double.NaN
                : sorted.length % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    }
}
