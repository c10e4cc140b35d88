package dev.granary.benchmarks.bucket;

import dev.granary.benchmarks.bucket.server.BucketWorkspace;
import dev.granary.benchmarks.bucket.server.ServerRoutes;
import dev.granary.benchmarks.bucket.workload.BucketSettings;
import dev.granary.benchmarks.bucket.workload.PayloadKind;
import dev.granary.benchmarks.harness.BenchmarkCommand;
import dev.granary.benchmarks.harness.Report;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.nio.file.Path;
import java.util.List;

/**
 * {@code ./granary bench bucket}: {@code granary warm} against the tools that move the same bytes.
 * All servers and files of a run are removed at its end. {@code docs/measured.md} describes the
 * measure.
 */
@Command(
        name = "granary bench bucket",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = "Measure granary warm against rclone and aws s3 cp, on a server of its own.")
public final class BucketBenchmark extends BenchmarkCommand {
    private static final int LEAST_ENTRIES = 20;
    private static final int MOST_ENTRIES = 50_000; // their packs fit into one array
    private static final int LONGEST_DELAY_MILLIS = 10_000;
    private static final List<String> SERVERS = List.of("ceph", "embedded");

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
            names = "--delays",
            paramLabel = "MILLIS",
            split = ",",
            defaultValue = "20,80",
            description =
                    "milliseconds that are added to each request, shortest first; ${DEFAULT-VALUE}")
    private List<Integer> delays = List.of();

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

    private BucketSettings settings() {
        requireAtLeast("--entries", entries, LEAST_ENTRIES);
        requireAtLeast("--rounds", rounds, 1);
        if (entries > MOST_ENTRIES) {
            throw wrong("--entries must be at most " + MOST_ENTRIES + ", not " + entries);
        }
        for (int delay : delays) {
            if (delay < 1 || delay > LONGEST_DELAY_MILLIS) {
                throw wrong("--delays must be 1 to " + LONGEST_DELAY_MILLIS + ", not " + delay);
            }
        }
        if (server != null && !SERVERS.contains(server)) {
            throw wrong(
                    "--server must be one of " + String.join(", ", SERVERS) + ", not " + server);
        }
        return new BucketSettings(
                content,
                seed(),
                entries,
                rounds,
                delays.stream().sorted().distinct().toList());
    }
}
