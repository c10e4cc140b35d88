package dev.granary.benchmarks.start;

import dev.granary.benchmarks.harness.BenchmarkCommand;
import dev.granary.benchmarks.harness.Goal;
import dev.granary.benchmarks.harness.Report;
import dev.granary.benchmarks.harness.ReportSection;
import dev.granary.s3.embedded.EmbeddedS3;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/**
 * {@code ./granary bench start}: how much a bucket delays the first lookup of a new process, and
 * its end, if it works and if it does not. {@code docs/measured.md} describes the measure.
 */
@Command(
        name = "granary bench start",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = "Measure the start and the end of programs whose bucket works or does not.")
public final class StartBenchmark extends BenchmarkCommand {
    private static final int COMPILE_MILLIS = 200;
    private static final int LATER_MILLIS = 1000;
    private static final int KERNELS_AT_END = 30;

    @Option(
            names = "--rounds",
            paramLabel = "N",
            defaultValue = "5",
            description = "rounds that count; ${DEFAULT-VALUE}")
    private int rounds;

    @Option(
            names = "--dir",
            paramLabel = "DIR",
            description = "where to write, in a new directory; default the temporary directory")
    private @Nullable Path directory;

    /** Runs the benchmark and exits with 0, with 1 if it failed, or with 2 for wrong usage. */
    public static void main(String[] arguments) {
        System.exit(line(new StartBenchmark()).execute(arguments));
    }

    /** A bucket, or what a program finds in its place. */
    private enum BucketState {
        NONE("none"),
        REFUSED("refused port"),
        UNKNOWN("unknown host"),
        NO_CREDENTIALS("no credentials"),
        HEALTHY("healthy, empty"),
        SILENT("silent"),
        UNAVAILABLE("503");

        private final String label;

        BucketState(String label) {
            this.label = label;
        }
    }

    /** The seconds of the first lookup with one state of the bucket. */
    private static final class Figures {
        private final BucketState state;
        private final List<Double> plain = new ArrayList<>();
        private final List<Double> archived = new ArrayList<>();
        private final List<Double> laterPlain = new ArrayList<>();
        private final List<Double> laterArchived = new ArrayList<>();

        Figures(BucketState state) {
            this.state = state;
        }

        double firstLookup() {
            return median(archived);
        }

        double laterLookup() {
            return median(laterArchived);
        }
    }

    private static double median(List<Double> values) {
        return values.stream().sorted().toList().get(values.size() / 2);
    }

    @Override
    protected void measure() throws Exception {
        requireAtLeast("--rounds", rounds, 1);
        Path parent = parent(directory);
        Report report = report(Map.of("rounds", rounds, "kernelsAtEnd", KERNELS_AT_END));
        try (StartWorkspace workspace = new StartWorkspace(parent, progress());
                EmbeddedS3 server = EmbeddedS3.start(workspace.path("objects"));
                ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
                UnavailableServer unavailable = UnavailableServer.start()) {
            server.createBucket("kernels");
            Map<BucketState, URI> endpoints = new EnumMap<>(BucketState.class);
            endpoints.put(BucketState.REFUSED, URI.create("http://127.0.0.1:1"));
            endpoints.put(BucketState.UNKNOWN, URI.create("http://kernels.invalid"));
            endpoints.put(BucketState.NO_CREDENTIALS, server.endpoint());
            endpoints.put(BucketState.HEALTHY, server.endpoint());
            endpoints.put(
                    BucketState.SILENT, URI.create("http://127.0.0.1:" + silent.getLocalPort()));
            endpoints.put(BucketState.UNAVAILABLE, unavailable.endpoint());
            StartWorkspace.Program program = workspace.program(
                    endpoints.getOrDefault(BucketState.HEALTHY, server.endpoint()),
                    Map.of(
                            "AWS_ACCESS_KEY_ID", server.accessKey(),
                            "AWS_SECRET_ACCESS_KEY", server.secretKey(),
                            "AWS_REGION", "us-east-1"));
            report.heading("An engine that compiles a kernel in 0.2 s; new processes, in turns."
                    + " archive: -XX:AOTCache.");
            try (WarmClient client = new WarmClient(server, "kernels")) {
                report.add(starts(workspace, program, endpoints, client));
            }
            report.add(ends(workspace, program, endpoints));
        }
    }

    private ReportSection starts(
            StartWorkspace workspace,
            StartWorkspace.Program program,
            Map<BucketState, URI> endpoints,
            WarmClient client)
            throws IOException, InterruptedException {
        List<Double> roundTrips = new ArrayList<>();
        List<Figures> all = Stream.of(BucketState.values()).map(Figures::new).toList();
        for (int round = 1; round <= rounds; round++) {
            for (Figures figures : all) {
                BucketState state = figures.state;
                workspace.say("start, round " + round + " of " + rounds + ": " + state.label);
                boolean hasCredentials = state != BucketState.NO_CREDENTIALS;
                URI endpoint = endpoints.get(state);
                for (boolean isArchived : new boolean[] {false, true}) {
                    List<String> flags = isArchived ? program.archiveFlags() : List.of();
                    (isArchived ? figures.archived : figures.plain)
                            .add(program.run(flags, hasCredentials, endpoint, 1, COMPILE_MILLIS, 0)
                                    .openAndLookup());
                    (isArchived ? figures.laterArchived : figures.laterPlain)
                            .add(program.run(
                                            flags,
                                            hasCredentials,
                                            endpoint,
                                            1,
                                            COMPILE_MILLIS,
                                            LATER_MILLIS)
                                    .lookup());
                }
                if (state == BucketState.HEALTHY) {
                    roundTrips.add(client.roundTrips());
                }
            }
        }
        ReportSection section = new ReportSection(
                "start",
                String.format(
                        Locale.ROOT,
                        "seconds of open and first lookup, and of a lookup a second after open;"
                                + " medians of %d; round trips of a lookup: %.3f",
                        rounds,
                        median(roundTrips)),
                new ReportSection.Column("plain", "at once", 2),
                new ReportSection.Column("archived", "archive", 2),
                new ReportSection.Column("laterPlain", "a second later", 2),
                new ReportSection.Column("laterArchived", "archive", 2));
        Figures none = all.getFirst();
        for (Figures figures : all) {
            section.row(
                    figures.state.label,
                    median(figures.plain),
                    figures.firstLookup(),
                    median(figures.laterPlain),
                    figures.laterLookup());
            String label = figures.state.label;
            double ratio = figures.firstLookup() / none.firstLookup();
            double more = figures.firstLookup() - none.firstLookup();
            switch (figures.state) {
                case NONE -> {}
                case REFUSED, UNKNOWN, NO_CREDENTIALS ->
                    section.goal(atMost(label + " / none", 1.1, ratio));
                case HEALTHY -> {
                    section.goal(atMost(label + " - none, s", 0.6, more));
                    section.goal(atMost(
                            "a second later without its round trips / none",
                            1.1,
                            (figures.laterLookup() - median(roundTrips)) / none.laterLookup()));
                }
                case SILENT, UNAVAILABLE -> section.goal(atMost(label + " - none, s", 2, more));
            }
        }
        return section;
    }

    private ReportSection ends(
            StartWorkspace workspace,
            StartWorkspace.Program program,
            Map<BucketState, URI> endpoints)
            throws IOException, InterruptedException {
        ReportSection section = new ReportSection(
                "end",
                String.format(
                        Locale.ROOT,
                        "seconds of close with %d kernels just compiled, in 1 ms each; medians of"
                                + " %d",
                        KERNELS_AT_END,
                        rounds),
                new ReportSection.Column("plain", "plain", 2));
        for (BucketState state : List.of(
                BucketState.NONE, BucketState.HEALTHY, BucketState.REFUSED, BucketState.SILENT)) {
            workspace.say("end: " + state.label);
            List<Double> seconds = new ArrayList<>();
            for (int round = 0; round < rounds; round++) {
                seconds.add(program.run(List.of(), true, endpoints.get(state), KERNELS_AT_END, 1, 0)
                        .close());
            }
            section.row(state.label, median(seconds));
        }
        return section;
    }

    private static Goal atMost(String name, double limit, double figure) {
        return new Goal(name, Goal.Bound.AT_MOST, limit, figure);
    }

    @Override
    protected String goalsTitle() {
        return "goals of the start";
    }
}
