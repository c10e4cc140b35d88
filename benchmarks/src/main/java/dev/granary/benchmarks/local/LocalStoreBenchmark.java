package dev.granary.benchmarks.local;

import dev.granary.benchmarks.harness.Report;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/**
 * {@code ./granary bench local}: the local tier against what else may carry it, and against reading files without any check. Everything it
 * writes goes at its end; {@code docs/local-benchmark.md} says what is measured and how.
 */
@Command(
        name = "granary bench local",
        mixinStandardHelpOptions = true,
        description = "Measure the local tier against files, LMDB, RocksDB, SQLite, Ehcache, DiskLruCache and the layout of oneDNN's RFC.")
public final class LocalStoreBenchmark implements Callable<Integer> {
    private static final int LEAST_ENTRIES = 20;
    private static final int FAILED = 1;

    @Option(names = "--entries", paramLabel = "N", defaultValue = "10000", description = "entries of the workload; ${DEFAULT-VALUE}")
    private int entries;

    @Option(names = "--open-entries", paramLabel = "N", defaultValue = "1000000",
            description = "tiny entries of the store that is opened in a warm JVM; ${DEFAULT-VALUE}")
    private int openEntries;

    @Option(names = "--rounds", paramLabel = "N", defaultValue = "9", description = "rounds that count; ${DEFAULT-VALUE}")
    private int rounds;

    @Option(names = "--seed", paramLabel = "N", defaultValue = "1", description = "decides sizes, contents, orders; ${DEFAULT-VALUE}")
    private long seed;

    @Option(names = "--only", paramLabel = "MEASURE", split = ",", converter = MeasureName.class,
            description = "what to measure: get, put, evict, open, driver; default all")
    private @Nullable List<LocalMeasure> only;

    @Option(names = "--candidates", paramLabel = "NAME", split = ",", converter = CandidateName.class,
            description = "what to compare with raw: raw-verified, tier, tier-kept, lmdb, lmdb-copied, rocksdb, sqlite, ehcache, "
                    + "disklrucache, rfc; default all")
    private @Nullable List<StoreCandidate> candidates;

    @Option(names = "--dir", paramLabel = "DIR", description = "where to write, in a new directory; default the temporary directory")
    private @Nullable Path directory;

    @Option(names = "--json", paramLabel = "FILE", description = "write all figures to this file too")
    private @Nullable Path json;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    /** Runs it and ends the process: 0, 1 where it failed, 2 where it was called wrongly. */
    public static void main(String[] arguments) {
        System.exit(commandLine().execute(arguments));
    }

    static CommandLine commandLine() {
        System.setProperty("org.slf4j.simpleLogger.log.org.ehcache", "off"); // it tells of each cache that it opens
        CommandLine line = new CommandLine(new LocalStoreBenchmark());
        line.setOut(new PrintWriter(System.out, true, StandardCharsets.UTF_8));
        line.setErr(new PrintWriter(System.err, true, StandardCharsets.UTF_8));
        line.setUsageHelpAutoWidth(true);
        line.setExecutionExceptionHandler((failure, command, _) -> {
            failure.printStackTrace(command.getErr());
            return FAILED;
        });
        return line;
    }

    @Override
    public Integer call() throws Exception {
        LocalSettings settings = settings();
        Path parent = directory == null ? Path.of(System.getProperty("java.io.tmpdir")) : directory;
        Report report = new Report(settings.figures(), spec.commandLine().getOut());
        try (LocalWorkspace workplace = LocalWorkspace.in(parent, spec.commandLine().getErr())) {
            new BenchmarkRun(settings, workplace, report).play();
        }
        report.goals("goals of the local tier");
        if (json != null) {
            report.write(json);
        }
        return 0;
    }

    private LocalSettings settings() {
        requireAtLeast("--entries", entries, LEAST_ENTRIES);
        requireAtLeast("--open-entries", openEntries, 1);
        requireAtLeast("--rounds", rounds, 1);
        if (directory != null && Files.exists(directory) && !Files.isDirectory(directory)) {
            throw wrong("--dir must name a directory: " + directory);
        }
        if (json != null && !Files.isDirectory(json.toAbsolutePath().resolveSibling("."))) {
            throw wrong("--json must name a file in a directory that exists: " + json);
        }
        List<StoreCandidate> wanted = candidates == null ? List.of(StoreCandidate.values()) : candidates;
        List<StoreCandidate> ordered = Stream.of(StoreCandidate.values())
                .filter(candidate -> candidate == StoreCandidate.RAW || wanted.contains(candidate))
                .toList();
        Set<LocalMeasure> measures = only == null ? EnumSet.allOf(LocalMeasure.class) : EnumSet.copyOf(only);
        return new LocalSettings(seed, entries, openEntries, rounds, measures, ordered);
    }

    private void requireAtLeast(String option, int value, int least) {
        if (value < least) {
            throw wrong(option + " must be " + least + " or more, not " + value);
        }
    }

    private ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    private static final class MeasureName implements ITypeConverter<LocalMeasure> {
        @Override
        public LocalMeasure convert(String value) {
            return known(LocalMeasure.ofLabel(value), value, Stream.of(LocalMeasure.values()).map(LocalMeasure::label).toList());
        }
    }

    private static final class CandidateName implements ITypeConverter<StoreCandidate> {
        @Override
        public StoreCandidate convert(String value) {
            return known(StoreCandidate.ofLabel(value), value, Stream.of(StoreCandidate.values()).map(StoreCandidate::label).toList());
        }
    }

    private static <T> T known(Optional<T> found, String value, List<String> names) {
        return found.orElseThrow(() -> new TypeConversionException("'" + value + "' is none of " + String.join(", ", names)));
    }
}
