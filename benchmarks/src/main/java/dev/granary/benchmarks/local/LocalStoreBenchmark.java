package dev.granary.benchmarks.local;

import dev.granary.benchmarks.harness.BenchmarkCommand;
import dev.granary.benchmarks.harness.Report;
import dev.granary.benchmarks.local.LocalSettings.Measure;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Stream;

/**
 * {@code ./granary bench local}: the local tier beside plain files. All files of a run are deleted
 * at its end. {@code docs/measured.md} describes the measures.
 */
@Command(
        name = "granary bench local",
        mixinStandardHelpOptions = true,
        description = "Measure the local tier beside plain files.")
public final class LocalStoreBenchmark extends BenchmarkCommand {
    private static final int LEAST_ENTRIES = 20;

    @Option(
            names = "--entries",
            paramLabel = "N",
            defaultValue = "500",
            description = "entries of each set; ${DEFAULT-VALUE}")
    private int entries;

    @Option(
            names = "--many-entries",
            paramLabel = "N",
            defaultValue = "100000",
            description = "tiny entries of the store that is scanned; ${DEFAULT-VALUE}")
    private int manyEntries;

    @Option(
            names = "--rounds",
            paramLabel = "N",
            defaultValue = "9",
            description = "rounds that count; ${DEFAULT-VALUE}")
    private int rounds;

    @Option(
            names = "--only",
            paramLabel = "MEASURE",
            split = ",",
            description = "what to measure: get, put, replace, evict, scan, start; default all")
    private @Nullable List<Measure> only;

    @Option(
            names = "--candidates",
            paramLabel = "NAME",
            split = ",",
            description = "what to compare with raw: raw-verified, tier; default both")
    private @Nullable List<StoreCandidate> candidates;

    @Option(
            names = "--dir",
            paramLabel = "DIR",
            description = "where to write, in a new directory; default the temporary directory")
    private @Nullable Path directory;

    /** Runs the benchmark and exits with 0, with 1 if it failed, or with 2 for wrong usage. */
    public static void main(String[] arguments) {
        System.exit(commandLine().execute(arguments));
    }

    static CommandLine commandLine() {
        return line(new LocalStoreBenchmark());
    }

    @Override
    protected void measure() throws Exception {
        LocalSettings settings = settings();
        Path parent = parent(directory);
        Report report = report(settings.figures());
        try (LocalWorkspace workspace = new LocalWorkspace(parent, progress())) {
            report.heading(
                    String.format(
                            Locale.ROOT,
                            "Local tier: seed %d, %,d entries of each set, page cache warm",
                            settings.seed(),
                            settings.entries()),
                    "The candidates take turns in rounds; /raw: median of the ratios within a"
                            + " round. Nothing syncs.");
            measureOperations(settings, workspace, report);
            if (settings.measures().contains(Measure.EVICT)) {
                report.add(new EvictMeasure(settings, workspace).run());
            }
            if (settings.measures().contains(Measure.SCAN)) {
                report.add(new ScanMeasure(settings, workspace).run());
            }
            if (settings.measures().contains(Measure.START)) {
                report.add(new StartMeasure(settings, workspace).run());
            }
        }
    }

    private static void measureOperations(
            LocalSettings settings, LocalWorkspace workspace, Report report) throws Exception {
        List<Measure> operations = Stream.of(Measure.GET, Measure.PUT, Measure.REPLACE)
                .filter(settings.measures()::contains)
                .toList();
        if (operations.isEmpty()) {
            return;
        }
        try (OperationsMeasure measure = new OperationsMeasure(settings, workspace)) {
            for (Measure operation : operations) {
                report.add(measure.run(operation));
            }
        }
    }

    @Override
    protected String goalsTitle() {
        return "goals of the local tier";
    }

    private LocalSettings settings() {
        requireAtLeast("--entries", entries, LEAST_ENTRIES);
        requireAtLeast("--many-entries", manyEntries, LEAST_ENTRIES);
        requireAtLeast("--rounds", rounds, 1);
        List<StoreCandidate> wanted =
                candidates == null ? List.of(StoreCandidate.values()) : candidates;
        List<StoreCandidate> ordered = Stream.of(StoreCandidate.values())
                .filter(candidate -> candidate == StoreCandidate.RAW || wanted.contains(candidate))
                .toList();
        Set<Measure> measures = only == null ? EnumSet.allOf(Measure.class) : EnumSet.copyOf(only);
        return new LocalSettings(seed(), entries, manyEntries, rounds, measures, ordered);
    }
}
