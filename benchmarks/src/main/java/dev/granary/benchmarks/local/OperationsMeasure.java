package dev.granary.benchmarks.local;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.benchmarks.harness.ReportSection;
import dev.granary.benchmarks.local.LocalSettings.Measure;
import dev.granary.benchmarks.local.LocalWorkload.Sizes;

import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;

/**
 * Measure of get, put and replace: by one thread for each of the sizes, and on the mixed sizes by
 * two threads and by two processes.
 */
final class OperationsMeasure implements AutoCloseable {
    private static final int WARM_ROUNDS = 5;
    private static final int WORKERS = 2;

    private final LocalSettings settings;
    private final LocalWorkspace workspace;
    private final Map<StoreCandidate, CandidateStore> stores;
    private final LocalWorkload workload;
    private final List<Worker> workers = new ArrayList<>();
    private final List<Process> processes = new ArrayList<>();
    private final ExecutorService threads = Executors.newFixedThreadPool(WORKERS);
    private int turns;

    /** Opens the stores, and fills them with one set of each size. */
    OperationsMeasure(LocalSettings settings, LocalWorkspace workspace) throws IOException {
        this.settings = settings;
        this.workspace = workspace;
        this.workload = new LocalWorkload(settings.seed(), settings.entries());
        Path parent = workspace.directory("operations");
        this.stores = Worker.open(settings.candidates(), parent);
        for (int i = 0; i < WORKERS; i++) {
            workers.add(new Worker(workload, stores, i));
            processes.add(workspace.start(
                    Worker.class,
                    parent.toString(),
                    Long.toString(settings.seed()),
                    Integer.toString(settings.entries()),
                    Integer.toString(WORKERS + i),
                    settings.candidates().stream()
                            .map(Enum::name)
                            .collect(Collectors.joining(","))));
        }
        for (Sizes sizes : EnumSet.complementOf(EnumSet.of(Sizes.TINY))) {
            for (StoreCandidate owner : settings.owners()) {
                for (LocalWorkload.Item item : workload.set(sizes, 0)) {
                    store(owner).put(item);
                }
            }
        }
    }

    /** Column of the table. */
    private enum Column {
        KIB_4("4 KiB", Sizes.KIB_4),
        KIB_32("32 KiB", Sizes.KIB_32),
        KIB_100("100 KiB", Sizes.KIB_100),
        MIXED("mixed", Sizes.MIXED),
        THREADS("2 threads", Sizes.MIXED),
        PROCESSES("2 processes", Sizes.MIXED);

        private final String heading;
        private final Sizes sizes;

        Column(String heading, Sizes sizes) {
            this.heading = heading;
            this.sizes = sizes;
        }
    }

    /** Measures one operation. */
    ReportSection run(Measure operation) throws Exception {
        List<StoreCandidate> candidates =
                operation == Measure.GET ? settings.candidates() : settings.owners();
        String name = operation.name().toLowerCase(Locale.ROOT);
        Map<Column, Rounds> figures = new EnumMap<>(Column.class);
        for (int round = 0; round < WARM_ROUNDS + settings.rounds(); round++) {
            workspace.say(
                    name + ", round " + (round + 1) + " of " + (WARM_ROUNDS + settings.rounds()));
            for (Column column : Column.values()) {
                int number = turns++;
                for (StoreCandidate candidate : Rounds.turns(candidates, settings.seed(), number)) {
                    if (operation != Measure.GET) {
                        workspace.settle();
                    }
                    double micros = micros(column, candidate, operation, number);
                    if (round >= WARM_ROUNDS) {
                        figures.computeIfAbsent(column, _ -> new Rounds()).add(candidate, micros);
                    }
                }
            }
        }
        ReportSection section = new ReportSection(
                name,
                name + ", us; medians of " + settings.rounds() + " rounds",
                Arrays.stream(Column.values())
                        .map(column -> new ReportSection.Column(
                                column.name().toLowerCase(Locale.ROOT), column.heading, 2))
                        .toArray(ReportSection.Column[]::new));
        Rounds.addRows(section, candidates, List.copyOf(figures.values()));
        return section;
    }

    private double micros(Column column, StoreCandidate candidate, Measure operation, int number)
            throws Exception {
        if (column == Column.PROCESSES) {
            return inProcesses(
                    candidate.name() + " " + operation + " " + column.sizes + " " + number);
        }
        List<Worker> used = column == Column.THREADS ? workers : workers.subList(0, 1);
        List<Callable<Double>> prepared = new ArrayList<>();
        for (Worker worker : used) {
            prepared.add(worker.prepare(candidate, operation, column.sizes, number));
        }
        double sum = 0;
        for (Future<Double> micros : threads.invokeAll(prepared)) {
            sum += micros.get();
        }
        return sum / used.size();
    }

    private double inProcesses(String turn) throws IOException {
        for (Process process : processes) {
            send(process, turn);
        }
        for (Process process : processes) {
            workspace.line(process); // is prepared
        }
        for (Process process : processes) {
            send(process, "run");
        }
        double sum = 0;
        for (Process process : processes) {
            sum += Double.parseDouble(workspace.line(process));
        }
        return sum / processes.size();
    }

    private static void send(Process process, String line) throws IOException {
        BufferedWriter in = process.outputWriter(UTF_8);
        in.write(line + "\n");
        in.flush();
    }

    private CandidateStore store(StoreCandidate candidate) {
        return Objects.requireNonNull(stores.get(candidate));
    }

    @Override
    public void close() {
        processes.forEach(Process::destroy);
        threads.shutdownNow();
        stores.values().forEach(CandidateStore::close);
    }
}
