package dev.granary.coordinator.machine;

import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;

/**
 * Totals of the counters of all processes that have used a local directory, as shown by
 * {@code granary stats}: each {@link Counter}, and the number of processes. Each process adds its
 * counters when it closes, and from time to time before; the rest of a killed process is missing.
 */
public final class Totals {
    private static final String PROCESSES = "processes";

    private static final Duration LOCK_LIMIT = Duration.ofSeconds(1);

    private final Path file;
    private final Path lock;
    private Map<String, Long> added = Map.of(); // of this process

    public Totals(Path localDirectory) {
        this.file = localDirectory.resolve("statistics.txt");
        this.lock = localDirectory.resolve("statistics.lock");
    }

    /** Returns the counters by name; empty if none were stored or the file is damaged. */
    public Map<String, Long> read() throws IOException {
        Map<String, Long> totals = new TreeMap<>();
        if (Files.exists(file)) {
            try {
                for (String line : Files.readAllLines(file)) {
                    int blank = Math.max(0, line.indexOf(' '));
                    totals.put(
                            line.substring(blank).strip(),
                            Long.parseLong(line.substring(0, blank)));
                }
            } catch (NumberFormatException | CharacterCodingException e) {
                totals.clear(); // damaged: counting starts again
            }
        }
        return totals;
    }

    /**
     * Sets all counters to 0, and returns them as they were. No process loses counters by it: a
     * running one adds those of its own later that it has not added.
     */
    public Map<String, Long> reset() throws IOException {
        if (!Files.exists(file)) {
            return Map.of(); // there may be no directory for the lock
        }
        try (FileTurn _ = FileTurn.await(lock, LOCK_LIMIT)) {
            Map<String, Long> totals = read();
            Files.deleteIfExists(file);
            return totals;
        }
    }

    /** Adds what this process has counted since its last call, and returns the totals. */
    public synchronized Map<String, Long> add(GranaryStatistics statistics) throws IOException {
        try (FileTurn _ = FileTurn.await(lock, LOCK_LIMIT)) {
            Map<String, Long> totals = read();
            Map<String, Long> now = counters(statistics);
            now.forEach((name, count) ->
                    totals.merge(name, count - added.getOrDefault(name, 0L), Long::sum));
            write(totals);
            added = now;
            return totals;
        }
    }

    private void write(Map<String, Long> totals) throws IOException {
        Path temporary = file.resolveSibling(file.getFileName() + ".part");
        // Properties would load a calendar and time zones at the end of each process: 20 ms
        Files.write(
                temporary,
                totals.entrySet().stream()
                        .map(one -> one.getValue() + " " + one.getKey())
                        .toList());
        Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE);
    }

    private static Map<String, Long> counters(GranaryStatistics statistics) {
        Map<String, Long> counters = new TreeMap<>(statistics.counters());
        counters.put(PROCESSES, 1L);
        if (statistics.layers().size() > 1) {
            statistics
                    .layers()
                    .forEach(layer -> counters.put(
                            Counter.LAYER_HITS.label() + " " + layer.name(),
                            layer.count(Counter.LAYER_HITS)));
        }
        return counters;
    }
}
