package dev.granary.benchmarks.memory;

import dev.granary.benchmarks.harness.BenchmarkCommand;
import dev.granary.benchmarks.harness.Report;
import dev.granary.benchmarks.harness.ReportSection;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * {@code ./granary bench memory}: the caches in memory against a map, Caffeine, Guava and oneDNN.
 * {@code docs/memory-caches.md} has the figures.
 */
@Command(
        name = "granary bench memory",
        mixinStandardHelpOptions = true,
        description = "Measure the caches in memory against ConcurrentHashMap, Caffeine, Guava and"
                + " oneDNN.")
public final class MemoryBenchmark extends BenchmarkCommand {
    private static final int LARGEST_CAPACITY = 1 << 20;
    // candidate and map take turns of a millisecond
    private static final int LEAST_MILLIS = 10;

    @Option(
            names = "--rounds",
            paramLabel = "N",
            defaultValue = "5",
            description = "rounds of the hits; ${DEFAULT-VALUE}")
    private int rounds;

    @Option(
            names = "--iterations",
            paramLabel = "N",
            defaultValue = "10",
            description = "iterations of each candidate in a round, after three that warm up;"
                    + " ${DEFAULT-VALUE}")
    private int iterations;

    @Option(
            names = "--millis",
            paramLabel = "N",
            defaultValue = "250",
            description = "length of an iteration; ${DEFAULT-VALUE}")
    private int millis;

    @Option(
            names = "--capacities",
            paramLabel = "N",
            split = ",",
            defaultValue = "128,1024,8192",
            description = "capacities of the churn, ascending; ${DEFAULT-VALUE}")
    private List<Integer> capacities = List.of();

    @Option(
            names = "--only",
            paramLabel = "MEASURE",
            split = ",",
            description = "what to measure: hit, churn, onednn, events; default all")
    private @Nullable List<MemoryMeasure> only;

    /** Runs the benchmark and exits with 0, with 1 if it failed, or with 2 for wrong usage. */
    public static void main(String[] arguments) {
        System.exit(commandLine().execute(arguments));
    }

    static CommandLine commandLine() {
        return line(new MemoryBenchmark());
    }

    @Override
    protected void measure() throws Exception {
        MemorySettings settings = settings();
        Report report = report(settings.figures());
        report.heading(
                String.format(
                        Locale.ROOT,
                        "Caches in memory: %d processors, Java %s",
                        Runtime.getRuntime().availableProcessors(),
                        System.getProperty("java.version")),
                "512 keys of 200 characters, which equal those in the cache and are other"
                        + " objects.");
        OneDnnMeasure.Figures oneDnn = settings.measures().contains(MemoryMeasure.ONEDNN)
                ? oneDnn(report)
                : OneDnnMeasure.Figures.NONE;
        if (settings.measures().contains(MemoryMeasure.HIT)) {
            HitMeasure hit = new HitMeasure(settings);
            hit.run();
            report.add(hit.section(oneDnn.sameNanos()));
        }
        if (settings.measures().contains(MemoryMeasure.CHURN)) {
            ChurnMeasure churn = new ChurnMeasure(settings);
            churn.run();
            report.add(churn.section());
        }
        if (settings.measures().contains(MemoryMeasure.EVENTS)) {
            EventsMeasure events = new EventsMeasure(settings);
            events.run();
            report.add(events.section());
        }
    }

    @Override
    protected String goalsTitle() {
        return "goals of the caches in memory";
    }

    private OneDnnMeasure.Figures oneDnn(Report report) throws Exception {
        OneDnnMeasure.Figures figures = new OneDnnMeasure(progress()::println).run();
        ReportSection section = new ReportSection(
                "onednn",
                "a hit of oneDNN's primitive cache, ns; median of 31 batches",
                new ReportSection.Column("same", "same", 0, "not measured"),
                new ReportSection.Column("many", "256 in turn", 0, "not measured"));
        section.row("oneDNN " + figures.version(), figures.sameNanos(), figures.manyNanos());
        report.add(section);
        return figures;
    }

    private MemorySettings settings() {
        requireAtLeast("--rounds", rounds, 1);
        requireAtLeast("--iterations", iterations, 1);
        requireAtLeast("--millis", millis, LEAST_MILLIS);
        if (!capacities.equals(capacities.stream().sorted().distinct().toList())
                || capacities.getFirst() < 1
                || capacities.getLast() > LARGEST_CAPACITY) {
            throw wrong("--capacities must ascend, from 1 to at most " + LARGEST_CAPACITY + ": "
                    + capacities);
        }
        Set<MemoryMeasure> measures =
                only == null ? EnumSet.allOf(MemoryMeasure.class) : EnumSet.copyOf(only);
        return new MemorySettings(rounds, iterations, millis, capacities, measures);
    }
}
