package dev.granary.it.bench.local;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Entry;
import java.io.BufferedReader;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.stream.DoubleStream;

/**
 * Compares what may carry the local tier, all in one run: puts, warm gets, and the first get of a new process. Prints medians and their
 * ratios to reading files without a check. Leaves its files behind: give it a directory to throw away.
 */
public final class LocalStoreBenchmark {
    private static final int ROUNDS = 9;
    private static final int WARM_ROUNDS = 4;
    private static final int STARTS = 9;

    private LocalStoreBenchmark() {}

    /** Arguments: an empty directory, the number of entries. */
    public static void main(String[] arguments) throws Exception {
        Path directory = Path.of(arguments[0]);
        List<Entry> entries = Material.entries(Integer.parseInt(arguments[1]));
        List<Entry> typical = entries.stream().filter(e -> e.binaries().byteSize() >> 10 >= 24 && e.binaries().byteSize() >> 10 < 40).toList();
        System.out.printf(Locale.ROOT, "%d entries, %d MB, %d of about 32 KiB%n", entries.size(),
                entries.stream().mapToLong(e -> e.binaries().byteSize()).sum() / 1_000_000, typical.size());

        Map<Candidate.Kind, Candidate> candidates = new EnumMap<>(Candidate.Kind.class);
        Map<Candidate.Kind, Double> puts = new EnumMap<>(Candidate.Kind.class);
        for (Candidate.Kind kind : Candidate.Kind.values()) {
            if (candidates.get(Candidate.Kind.LMDB_IN_PLACE) instanceof Lmdb same && kind == Candidate.Kind.LMDB_COPIED) {
                candidates.put(kind, same.copying());
            } else {
                Candidate candidate = kind.open(directory);
                candidates.put(kind, candidate);
                puts.put(kind, microsEach(entries, candidate::put));
            }
        }
        print("put, all sizes, us", puts);
        print("get, all sizes, us", gets(candidates, entries));
        print("get, about 32 KiB, us", gets(candidates, typical));
        for (Candidate candidate : candidates.values()) {
            candidate.close();
        }
        print("first open and get in a new process, ms", starts(directory));
    }

    @FunctionalInterface
    private interface Operation {
        void on(Entry entry) throws IOException;
    }

    private static double microsEach(List<Entry> entries, Operation operation) throws IOException {
        long start = System.nanoTime();
        for (Entry entry : entries) {
            operation.on(entry);
        }
        return (System.nanoTime() - start) / 1e3 / entries.size();
    }

    private static Map<Candidate.Kind, Double> gets(Map<Candidate.Kind, Candidate> candidates, List<Entry> entries) throws IOException {
        Map<Candidate.Kind, List<Double>> rounds = new EnumMap<>(Candidate.Kind.class);
        List<Entry> shuffled = new ArrayList<>(entries);
        for (int round = 0; round < WARM_ROUNDS + ROUNDS; round++) {
            Collections.shuffle(shuffled, new Random(round));
            for (Map.Entry<Candidate.Kind, Candidate> each : candidates.entrySet()) {
                double micros = microsEach(shuffled, each.getValue()::get);
                if (round >= WARM_ROUNDS) {
                    rounds.computeIfAbsent(each.getKey(), _ -> new ArrayList<>()).add(micros);
                }
            }
        }
        Map<Candidate.Kind, Double> medians = new EnumMap<>(Candidate.Kind.class);
        rounds.forEach((kind, micros) -> medians.put(kind, median(micros.stream().mapToDouble(Double::doubleValue))));
        return medians;
    }

    private static Map<Candidate.Kind, Double> starts(Path directory) throws IOException, InterruptedException {
        Map<Candidate.Kind, double[]> millis = new EnumMap<>(Candidate.Kind.class);
        for (int i = 0; i < STARTS; i++) {
            for (Candidate.Kind kind : Candidate.Kind.values()) {
                millis.computeIfAbsent(kind, _ -> new double[STARTS])[i] = start(directory, kind);
            }
        }
        Map<Candidate.Kind, Double> medians = new EnumMap<>(Candidate.Kind.class);
        millis.forEach((kind, all) -> medians.put(kind, median(Arrays.stream(all))));
        return medians;
    }

    private static double start(Path directory, Candidate.Kind kind) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), FirstOpen.class.getName(), directory.toString(), kind.name()));
        Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
        try (BufferedReader out = process.inputReader(UTF_8)) {
            String line = out.readLine();
            process.waitFor();
            if (line == null) {
                throw new IOException(kind + " did not start");
            }
            return Double.parseDouble(line);
        }
    }

    private static double median(DoubleStream values) {
        double[] sorted = values.sorted().toArray();
        return sorted[sorted.length / 2];
    }

    private static void print(String what, Map<Candidate.Kind, Double> values) {
        Double raw = values.get(Candidate.Kind.RAW);
        values.forEach((kind, value) -> System.out.printf(Locale.ROOT, "%-42s %-14s %10.2f   %.2f x raw%n", what, kind, value,
                raw == null ? Double.NaN : value / raw));
    }
}
