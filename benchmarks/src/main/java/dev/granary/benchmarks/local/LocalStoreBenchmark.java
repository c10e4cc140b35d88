package dev.granary.benchmarks.local;

import dev.granary.benchmarks.harness.BenchmarkCommand;
import dev.granary.benchmarks.harness.Report;
import dev.granary.benchmarks.local.store.StoreCandidate;
import dev.granary.benchmarks.local.workload.LocalMeasure;
import dev.granary.benchmarks.local.workload.LocalSettings;
import dev.granary.benchmarks.local.workload.LocalWorkspace;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * {@code ./granary bench local}: the local tier against other stores, and against unverified reads
 * of files. All files of a run are deleted at its end. {@code docs/local-benchmark.md} describes
 * the measures.
 */
@Command(
        name = "granary bench local",
        mixinStandardHelpOptions = true,
        description =
                "Measure the local tier against files, LMDB and the layout of oneDNN's" + " RFC.")
public final class LocalStoreBenchmark extends BenchmarkCommand {
    private static final int LEAST_ENTRIES = 20;

    @Option(
            names = "--entries",
            paramLabel = "N",
            defaultValue = "10000",
            description = "entries of the workload; ${DEFAULT-VALUE}")
    private int entries;

    @Option(
            names = "--open-entries",
            paramLabel = "N",
            defaultValue = "1000000",
            description =
                    "tiny entries of the store that is opened in a warm JVM; ${DEFAULT-VALUE}")
    private int openEntries;

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
            description = "what to measure: get, put, evict, open, driver; default all")
    private @Nullable List<LocalMeasure> only;

    @Option(
            names = "--candidates",
            paramLabel = "NAME",
            split = ",",
            converter = CandidateName.class,
            description = "what to compare with raw: raw-verified, raw-kept, tier, tier-kept, lmdb,"
                    + " lmdb-copied, rfc; default all")
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
        try (LocalWorkspace workplace = LocalWorkspace.in(parent, progress())) {
            new BenchmarkRun(settings, workplace, report).run();
        }
    }

    @Override
    protected String goalsTitle() {
        return "goals of the local tier";
    }

    private LocalSettings settings() {
        requireAtLeast("--entries", entries, LEAST_ENTRIES);
        requireAtLeast("--open-entries", openEntries, 1);
        requireAtLeast("--rounds", rounds, 1);
        List<StoreCandidate> wanted =
                candidates == null ? List.of(StoreCandidate.values()) : candidates;
        List<StoreCandidate> ordered = Stream.of(StoreCandidate.values())
                .filter(candidate -> candidate == StoreCandidate.RAW || wanted.contains(candidate))
                .toList();
        Set<LocalMeasure> measures =
                only == null ? EnumSet.allOf(LocalMeasure.class) : EnumSet.copyOf(only);
        return new LocalSettings(seed(), entries, openEntries, rounds, measures, ordered);
    }

    /** Converter of a label on the command line to its candidate. */
    private static final class CandidateName implements ITypeConverter<StoreCandidate> {
        @Override
        public StoreCandidate convert(String value) {
            return StoreCandidate.ofLabel(value)
                    .orElseThrow(() -> new TypeConversionException("'" + value + "' is none of "
                            + String.join(
                                    ", ",
                                    Stream.of(StoreCandidate.values())
                                            .map(StoreCandidate::label)
                                            .toList())));
        }
    }
}
