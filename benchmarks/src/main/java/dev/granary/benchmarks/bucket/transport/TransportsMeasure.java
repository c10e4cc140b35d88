package dev.granary.benchmarks.bucket.transport;

import dev.granary.benchmarks.bucket.server.BucketWorkspace;
import dev.granary.benchmarks.bucket.server.LineProcess;
import dev.granary.benchmarks.bucket.server.ServerRoute;
import dev.granary.benchmarks.bucket.workload.BucketFiller;
import dev.granary.benchmarks.bucket.workload.BucketSettings;
import dev.granary.benchmarks.bucket.workload.ParallelWorkers;
import dev.granary.benchmarks.bucket.workload.Sample;
import dev.granary.benchmarks.harness.ReportSection;
import dev.granary.s3.ObjectStoreFactory;
import dev.granary.s3.store.ObjectStore;

import org.jspecify.annotations.Nullable;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * Measure of client libraries: the time of the first object of a new process, and the objects per
 * second of a running one. Each runs in its own JVMs.
 */
public final class TransportsMeasure {
    private static final String PREFIX = "transports";
    private static final String FIRST = "transports-first";
    private static final int OBJECTS = 256;
    private static final int OBJECT_BYTES = 32 << 10;
    private static final int FIRST_BYTES = 64 << 10;
    private static final int WARM_UP = 4; // times as long as a turn
    private static final List<Integer> AT_ONCE = List.of(1, 32, 64);

    private final BucketSettings settings;
    private final BucketWorkspace workplace;

    public TransportsMeasure(BucketSettings settings, BucketWorkspace workplace) {
        this.settings = settings;
        this.workplace = workplace;
    }

    /** Writes the objects to read. */
    public void fill(ServerRoute route) throws IOException, InterruptedException {
        SplittableRandom random = new SplittableRandom(settings.seed());
        List<byte[]> bodies = new ArrayList<>();
        for (int i = 0; i < OBJECTS; i++) {
            byte[] body = new byte[OBJECT_BYTES];
            random.nextBytes(body);
            bodies.add(body);
        }
        byte[] first = new byte[FIRST_BYTES];
        random.nextBytes(first);
        try (ObjectStore store = ObjectStoreFactory.open(route.config("").build())) {
            ParallelWorkers.run(
                    AT_ONCE.getLast(),
                    OBJECTS,
                    index -> BucketFiller.put(
                            store, ThroughputTurn.key(PREFIX, index), bodies.get(index)));
            BucketFiller.put(store, FIRST, first);
        }
    }

    /** Measures the time from the start of a JVM until it has read an object of 64 KiB. */
    public ReportSection first(ServerRoute route) throws IOException, InterruptedException {
        Sample alone = new Sample();
        Map<TransportCandidate, Sample> millis = new EnumMap<>(TransportCandidate.class);
        int starts = 2 * settings.rounds() - 1;
        for (int round = 0; round < starts; round++) {
            workplace.say("transports, new processes, round " + (round + 1) + " of " + starts);
            alone.add(start(route));
            for (TransportCandidate transport : TransportCandidate.values()) {
                millis.computeIfAbsent(transport, _ -> new Sample())
                        .add(start(
                                route,
                                transport.name(),
                                route.endpoint().toString(),
                                route.bucket(),
                                FIRST));
            }
        }
        ReportSection section = new ReportSection(
                "first-object",
                "transports: a new process until it has an object of 64 KiB, ms; medians of "
                        + starts,
                new ReportSection.Column("millis", "ms", 0),
                new ReportSection.Column("withoutJvmMillis", "without JVM", 0));
        section.row("(JVM alone)", alone.median(), 0);
        millis.forEach((transport, sample) ->
                section.row(transport.label(), sample.median(), sample.median() - alone.median()));
        section.note(
                "the JVM flags of the launcher: C1 alone, the serial collector; no AOT cache. The"
                        + " class path of the benchmarks, for all of them alike");
        return section;
    }

    private double start(ServerRoute route, String... arguments) throws IOException {
        long start = System.nanoTime();
        BucketWorkspace.Started started = workplace.start(
                BucketWorkspace.java(
                        BucketWorkspace.COMMAND_FLAGS, FirstObjectProcess.class, arguments),
                workplace.environment(route.credentials()));
        try (BufferedReader out = started.process().inputReader(StandardCharsets.UTF_8)) {
            String line = out.readLine();
            double millis = (System.nanoTime() - start) / 1e6;
            if (line == null || (arguments.length > 0 && Integer.parseInt(line) != FIRST_BYTES)) {
                throw new IOException("a new process of " + String.join(" ", arguments)
                        + " read nothing: " + started.errors());
            }
            return millis;
        } finally {
            started.process().destroyForcibly();
        }
    }

    /** Measures the throughput of each transport over that route, with objects of 32 KiB. */
    public ReportSection throughput(ServerRoute route) throws IOException {
        Map<TransportCandidate, LineProcess> processes = new LinkedHashMap<>();
        Map<TransportCandidate, List<Figures>> figures = new LinkedHashMap<>();
        try {
            for (TransportCandidate transport : TransportCandidate.values()) {
                processes.put(
                        transport,
                        LineProcess.start(
                                workplace,
                                BucketWorkspace.java(
                                        List.of("-Dhttp.maxConnections=" + AT_ONCE.getLast()),
                                        ThroughputProcess.class,
                                        transport.name(),
                                        route.endpoint().toString(),
                                        route.bucket(),
                                        PREFIX,
                                        Integer.toString(OBJECTS)),
                                workplace.environment(route.credentials())));
                figures.put(transport, AT_ONCE.stream().map(_ -> new Figures()).toList());
            }
            round(route, WARM_UP * settings.turnMillis(), processes, null);
            for (int round = 0; round < settings.rounds(); round++) {
                round(route, settings.turnMillis(), processes, figures);
            }
        } finally {
            for (LineProcess process : processes.values()) {
                process.close();
            }
        }
        return section(route, figures);
    }

    private void round(
            ServerRoute route,
            int millis,
            Map<TransportCandidate, LineProcess> processes,
            @Nullable Map<TransportCandidate, List<Figures>> figures)
            throws IOException {
        workplace.say("transports, " + route.label() + (figures == null ? ": warming up" : ""));
        for (int level = 0; level < AT_ONCE.size(); level++) {
            for (Map.Entry<TransportCandidate, LineProcess> each : processes.entrySet()) {
                String[] answer =
                        each.getValue().ask(AT_ONCE.get(level) + " " + millis).split(" ");
                if (figures != null) {
                    figures.getOrDefault(each.getKey(), List.of()).get(level).add(answer);
                }
            }
        }
    }

    private ReportSection section(
            ServerRoute route, Map<TransportCandidate, List<Figures>> figures) {
        ReportSection section = new ReportSection(
                "transports-" + route.name(),
                "transports: objects of 32 KiB, " + route.label() + ", so many at once; medians of "
                        + settings.rounds() + " rounds",
                new ReportSection.Column("p50Micros1", "1: p50 us", 0),
                new ReportSection.Column("p99Micros1", "p99 us", 0),
                new ReportSection.Column("perSecond32", "32: /s", 0),
                new ReportSection.Column("p50Millis32", "p50 ms", 1),
                new ReportSection.Column("p99Millis32", "p99 ms", 1),
                new ReportSection.Column("perSecond64", "64: /s", 0),
                new ReportSection.Column("p50Millis64", "p50 ms", 1),
                new ReportSection.Column("p99Millis64", "p99 ms", 1));
        figures.forEach((transport, levels) -> section.row(
                transport.label(),
                levels.get(0).p50.median(),
                levels.get(0).p99.median(),
                levels.get(1).rate.median(),
                levels.get(1).p50.median() / 1e3,
                levels.get(1).p99.median() / 1e3,
                levels.get(2).rate.median(),
                levels.get(2).p50.median() / 1e3,
                levels.get(2).p99.median() / 1e3));
        return section;
    }

    /** The figures of one transport with one concurrency, round by round. */
    private static final class Figures {
        private final Sample rate = new Sample();
        private final Sample p50 = new Sample();
        private final Sample p99 = new Sample();

        void add(String[] answer) {
            rate.add(Double.parseDouble(answer[0]));
            p50.add(Double.parseDouble(answer[1]));
            p99.add(Double.parseDouble(answer[2]));
        }
    }
}
