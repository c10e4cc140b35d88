package dev.granary.benchmarks.bucket;

import dev.granary.benchmarks.harness.Report;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * {@code ./granary bench bucket}: the bucket tier against the tools and clients that move the same bytes. The servers that it starts and all
 * that it writes go at its end; {@code docs/bucket-benchmark.md} says what is measured and how.
 */
@Command(
        name = "granary bench bucket",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = "Measure the bucket tier against rclone, aws s3 cp, bare clients and other transports, on a server of its own.")
public final class BucketBenchmark implements Callable<Integer> {
    private static final int LEAST_ENTRIES = 20;
    private static final int FAILED = 1;
    private static final int LONGEST_DELAY_MILLIS = 10_000;
    private static final List<String> SERVERS = List.of("ceph", "embedded");

    @Parameters(paramLabel = "MEASURE", arity = "0..*",
            description = "what to measure: warm, loose, transports, fleet; default all")
    private List<String> measures = List.of();

    @Option(names = "--entries", paramLabel = "N", defaultValue = "10000", description = "entries of the workload; ${DEFAULT-VALUE}")
    private int entries;

    @Option(names = "--content", paramLabel = "random|kernels", defaultValue = "random",
            description = "what they hold: nothing that compresses, or what zstd packs about 2.5 times; ${DEFAULT-VALUE}")
    private PayloadKind content = PayloadKind.RANDOM;

    @Option(names = "--rounds", paramLabel = "N", defaultValue = "3", description = "rounds that count; ${DEFAULT-VALUE}")
    private int rounds;

    @Option(names = "--calls", paramLabel = "N", defaultValue = "6000", description = "look-ups of loose entries that count; ${DEFAULT-VALUE}")
    private int calls;

    @Option(names = "--delays", paramLabel = "MILLIS", split = ",", defaultValue = "20,80",
            description = "milliseconds that are added to each request, shortest first; ${DEFAULT-VALUE}")
    private List<Integer> delays = List.of();

    @Option(names = "--kernels", paramLabel = "N", defaultValue = "5000", description = "kernels that each node of the fleet needs; ${DEFAULT-VALUE}")
    private int kernels;

    @Option(names = "--nodes", paramLabel = "N", defaultValue = "1000", description = "nodes of the fleet; ${DEFAULT-VALUE}")
    private int nodes;

    @Option(names = "--seed", paramLabel = "N", defaultValue = "1", description = "decides sizes, contents, the fleet's chances; ${DEFAULT-VALUE}")
    private long seed;

    @Option(names = "--server", paramLabel = "ceph|embedded", description = "the S3 server; default the first of these that is installed")
    private @Nullable String server;

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
        CommandLine line = new CommandLine(new BucketBenchmark());
        line.setOut(new PrintWriter(System.out, true, StandardCharsets.UTF_8));
        line.setErr(new PrintWriter(System.err, true, StandardCharsets.UTF_8));
        line.setUsageHelpAutoWidth(true);
        line.setCaseInsensitiveEnumValuesAllowed(true);
        line.setExecutionExceptionHandler((failure, command, _) -> {
            failure.printStackTrace(command.getErr());
            return FAILED;
        });
        return line;
    }

    @Override
    public Integer call() throws Exception {
        BucketSettings settings = settings();
        Path parent = directory == null ? Path.of(System.getProperty("java.io.tmpdir")) : directory;
        Path scripts = Path.of(System.getProperty("granary.servers", "servers"));
        Report report = new Report(settings.figures(), spec.commandLine().getOut());
        try (BucketWorkspace workplace = BucketWorkspace.in(parent, spec.commandLine().getErr());
                ServerRoutes ways = ServerRoutes.open(workplace, scripts, server == null ? SERVERS : List.of(server), settings.delays())) {
            new BucketRun(settings, workplace, ways, report).play();
        }
        report.goals("goals of the bucket tier");
        if (json != null) {
            report.write(json);
        }
        return 0;
    }

    private BucketSettings settings() {
        requireAtLeast("--entries", entries, LEAST_ENTRIES);
        requireAtLeast("--rounds", rounds, 1);
        requireAtLeast("--calls", calls, 1);
        requireAtLeast("--kernels", kernels, 1);
        requireAtLeast("--nodes", nodes, 1);
        for (int delay : delays) {
            if (delay < 1 || delay > LONGEST_DELAY_MILLIS) {
                throw wrong("--delays must be 1 to " + LONGEST_DELAY_MILLIS + ", not " + delay);
            }
        }
        if (server != null && !SERVERS.contains(server)) {
            throw wrong("--server must be one of " + String.join(", ", SERVERS) + ", not " + server);
        }
        if (directory != null && Files.exists(directory) && !Files.isDirectory(directory)) {
            throw wrong("--dir must name a directory: " + directory);
        }
        if (json != null && !Files.isDirectory(json.toAbsolutePath().resolveSibling("."))) {
            throw wrong("--json must name a file in a directory that exists: " + json);
        }
        Set<BucketMeasure> wanted = measures.isEmpty() ? EnumSet.allOf(BucketMeasure.class)
                : EnumSet.copyOf(measures.stream().map(this::measure).toList());
        return new BucketSettings(wanted, content, seed, entries, rounds, calls, delays.stream().sorted().distinct().toList(), kernels, nodes);
    }

    private void requireAtLeast(String option, int value, int least) {
        if (value < least) {
            throw wrong(option + " must be " + least + " or more, not " + value);
        }
    }

    private ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    private BucketMeasure measure(String name) {
        return BucketMeasure.ofLabel(name).orElseThrow(() -> wrong("'" + name + "' is none of "
                + String.join(", ", Stream.of(BucketMeasure.values()).map(BucketMeasure::label).toList())));
    }
}
