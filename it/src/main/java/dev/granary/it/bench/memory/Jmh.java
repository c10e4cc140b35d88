package dev.granary.it.bench.memory;

import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Runs the methods of a benchmark class, each in a JVM of its own. */
final class Jmh {
    private static final int WARMUPS = 3;
    private static final int QUARTERS = 4;
    private static final String ALLOCATED = "gc.alloc.rate.norm";

    private final Settings settings;

    Jmh(Settings settings) {
        this.settings = settings;
    }

    /**
     * What a method took.
     *
     * @param nanos for one call, in each iteration
     * @param bytes what a call allocates
     */
    record Figure(List<Double> nanos, double bytes) {
        Figure {
            nanos = List.copyOf(nanos);
        }
    }

    /** The figures of all methods, by name. */
    Map<String, Figure> run(Class<?> benchmark, int threads, Map<String, String> parameters) throws RunnerException {
        var options = new OptionsBuilder().include(benchmark.getName() + "\\.").threads(threads).forks(1)
                .jvmArgs("--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow", "-Xms1g", "-Xmx1g",
                        "-XX:+AlwaysPreTouch") // else the kernel's handing out of memory is measured
                .warmupIterations(WARMUPS).warmupTime(TimeValue.milliseconds(settings.iterationMillis()))
                .measurementIterations(settings.iterations()).measurementTime(TimeValue.milliseconds(settings.iterationMillis()))
                .addProfiler(GCProfiler.class).verbosity(VerboseMode.SILENT).shouldFailOnError(true);
        parameters.forEach(options::param);
        Collection<RunResult> results = new Runner(options.build()).run();
        Map<String, Figure> figures = new HashMap<>();
        for (RunResult result : results) {
            List<Double> nanos = result.getBenchmarkResults().stream().flatMap(one -> one.getIterationResults().stream())
                    .map(iteration -> iteration.getPrimaryResult().getScore()).toList();
            Result<?> bytes = result.getSecondaryResults().get(ALLOCATED);
            figures.put(result.getPrimaryResult().getLabel(), new Figure(nanos, bytes == null ? Double.NaN : bytes.getScore()));
        }
        return figures;
    }

    /**
     * What a call takes where nothing disturbs it: the lower quartile of all iterations of these figures. Whatever else a machine does makes iterations
     * slower, never faster, in bursts that meet one candidate and not the other. Not a number where there is none.
     */
    static double undisturbed(Collection<Figure> figures) {
        double[] sorted = figures.stream().flatMap(figure -> figure.nanos().stream()).mapToDouble(Double::doubleValue).sorted().toArray();
        return sorted.length == 0 ? Double.NaN : sorted[sorted.length / QUARTERS];
    }

    /** The one in the middle, or the mean of the two there; not a number where there is none. */
    static double median(double... values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        int half = sorted.length / 2;
        return sorted.length == 0 ? Double.NaN : sorted.length % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    }
}
