package dev.granary.benchmarks.bucket;

import dev.granary.benchmarks.bucket.server.BucketWorkspace;
import dev.granary.benchmarks.bucket.server.ServerRoutes;
import dev.granary.benchmarks.bucket.workload.BucketMeasure;
import dev.granary.benchmarks.bucket.workload.BucketSettings;
import dev.granary.benchmarks.bucket.workload.PayloadKind;
import dev.granary.benchmarks.harness.BenchmarkCommand;
import dev.granary.benchmarks.harness.Report;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * {@code ./granary bench bucket}: the bucket tier against the tools and clients that move the same
 * bytes. All servers and files of a run are removed at its end. {@code docs/bucket-benchmark.md}
 * describes the measures.
 */
@Command(
        name = "granary bench bucket",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = "Measure the bucket tier against rclone, aws s3 cp, bare clients and other"
                + " transports, on a server of its own.")
public final class BucketBenchmark extends BenchmarkCommand {
    private static final int LEAST_ENTRIES = 20;
    private static final int MOST_ENTRIES = 50_000; // their packs fit into one array
    private static final int MOST_NODES = 1 << 19; // a slot of the event queue has 24 bits
    private static final int LONGEST_DELAY_MILLIS = 10_000;
    private static final List<String> SERVERS = List.of("ceph", "embedded");

    @Parameters(
            paramLabel = "MEASURE",
            arity = "0..*",
            description = "what to measure: warm, loose, transports, fleet; default all")
    private List<BucketMeasure> measures = List.of();

    @Option(
            names = "--entries",
            paramLabel = "N",
            defaultValue = "10000",
            description = "entries of the workload; ${DEFAULT-VALUE}")
    private int entries;

    @Option(
            names = "--content",
            paramLabel = "random|kernels",
            defaultValue = "random",
            description =
                    "what they hold: nothing that compresses, or what zstd packs about 2.5 times;"
                            + " ${DEFAULT-VALUE}")
    private PayloadKind content = PayloadKind.RANDOM;

    @Option(
            names = "--rounds",
            paramLabel = "N",
            defaultValue = "3",
            description = "rounds that count; ${DEFAULT-VALUE}")
    private int rounds;

    @Option(
            names = "--calls",
            paramLabel = "N",
            defaultValue = "6000",
            description = "measured lookups of loose entries; ${DEFAULT-VALUE}")
    private int calls;

    @Option(
            names = "--delays",
            paramLabel = "MILLIS",
            split = ",",
            defaultValue = "20,80",
            description =
                    "milliseconds that are added to each request, shortest first; ${DEFAULT-VALUE}")
    private List<Integer> delays = List.of();

    @Option(
            names = "--kernels",
            paramLabel = "N",
            defaultValue = "5000",
            description = "kernels that each node of the fleet needs; ${DEFAULT-VALUE}")
    private int kernels;

    @Option(
            names = "--nodes",
            paramLabel = "N",
            defaultValue = "1000",
            description = "nodes of the fleet; ${DEFAULT-VALUE}")
    private int nodes;

    @Option(
            names = "--server",
            paramLabel = "ceph|embedded",
            description = "the S3 server; default the first of these that is installed")
    private @Nullable String server;

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
        return line(new BucketBenchmark());
    }

    @Override
    protected void measure() throws Exception {
        BucketSettings settings = settings();
        Path parent = parent(directory);
        Path scripts = Path.of(System.getProperty("granary.servers", "servers"));
        Report report = report(settings.figures());
        try (BucketWorkspace workplace = BucketWorkspace.in(parent, progress());
                ServerRoutes routes = ServerRoutes.open(
                        workplace,
                        scripts,
                        server == null ? SERVERS : List.of(server),
                        settings.delays())) {
            new BucketRun(settings, workplace, routes, report).run();
        }
    }

    @Override
    protected String goalsTitle() {
        return "goals of the bucket tier";
    }

    private void requireAtMost(String option, int value, int most) {
        if (value > most) {
            throw wrong(option + " must be at most " + most + ", not " + value);
        }
    }

    private BucketSettings settings() {
        requireAtLeast("--entries", entries, LEAST_ENTRIES);
        requireAtLeast("--rounds", rounds, 1);
        requireAtLeast("--calls", calls, 1);
        requireAtLeast("--kernels", kernels, 1);
        requireAtLeast("--nodes", nodes, 1);
        requireAtMost("--entries", entries, MOST_ENTRIES);
        requireAtMost("--nodes", nodes, MOST_NODES);
        for (int delay : delays) {
            if (delay < 1 || delay > LONGEST_DELAY_MILLIS) {
                throw wrong("--delays must be 1 to " + LONGEST_DELAY_MILLIS + ", not " + delay);
            }
        }
        if (server != null && !SERVERS.contains(server)) {
            throw wrong(
                    "--server must be one of " + String.join(", ", SERVERS) + ", not " + server);
        }
        Set<BucketMeasure> wanted =
                measures.isEmpty() ? EnumSet.allOf(BucketMeasure.class) : EnumSet.copyOf(measures);
        return new BucketSettings(
                wanted,
                content,
                seed(),
                entries,
                rounds,
                calls,
                delays.stream().sorted().distinct().toList(),
                kernels,
                nodes);
    }
}
