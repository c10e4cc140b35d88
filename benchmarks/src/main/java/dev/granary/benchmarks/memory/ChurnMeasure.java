package dev.granary.benchmarks.memory;

import dev.granary.benchmarks.harness.ReportSection;

import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.RunnerException;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;

/**
 * Measure of misses of a full cache, for growing capacities, in half as many rounds as hits. Each
 * candidate has its own JVM, since each produces garbage.
 */
final class ChurnMeasure {
    private static final String YARDSTICK = "linkedMap";
    private static final String OURS = "primitive";

    private final MemorySettings settings;
    private final int rounds;
    // by round, by capacity
    private final List<List<Map<String, RunResult>>> results = new ArrayList<>();

    ChurnMeasure(MemorySettings settings) {
        this.settings = settings;
        this.rounds = (settings.rounds() + 1) / 2;
    }

    void run() throws RunnerException {
        JmhRunner jmh = new JmhRunner(settings);
        for (int round = 0; round < rounds; round++) {
            List<Map<String, RunResult>> byCapacity = new ArrayList<>();
            for (int capacity : settings.capacities()) {
                byCapacity.add(jmh.run(
                        ChurnBenchmark.class, 1, Map.of("capacity", Integer.toString(capacity))));
            }
            results.add(byCapacity);
        }
    }

    ReportSection section() {
        ReportSection section = new ReportSection(
                "churn",
                "a miss of a full cache that evicts, ns; rounds: " + rounds,
                new ReportSection.Column("primitive", "primitive", 0),
                new ReportSection.Column("linkedMap", "linked map", 0),
                new ReportSection.Column("ratio", "/ linked", 2),
                new ReportSection.Column("growth", "x first", 2),
                new ReportSection.Column("caffeine", "caffeine", 0));
        for (int i = 0; i < settings.capacities().size(); i++) {
            section.row(
                    String.format(
                            Locale.ROOT,
                            "%,d of %,d",
                            settings.capacities().get(i),
                            2 * settings.capacities().get(i)),
                    nanos(i, OURS),
                    nanos(i, YARDSTICK),
                    ratio(i),
                    nanos(i, OURS) / nanos(0, OURS),
                    nanos(i, "caffeine"));
        }
        section.note(
                "linked map: LinkedHashMap in order of access, under one lock: an exact LRU that"
                        + " does not look at all values. Caffeine has hits among its misses. Lower"
                        + " quartiles.");
        return section;
    }

    private double ratio(int index) {
        return nanos(index, OURS) / nanos(index, YARDSTICK);
    }

    private double nanos(int index, String method) {
        return JmhRunner.undisturbed(results.stream()
                .map(round -> Objects.requireNonNull(round.get(index).get(method), method))
                .flatMap(JmhRunner::iterations)
                .mapToDouble(iteration -> iteration.getPrimaryResult().getScore())
                .toArray());
    }
}
