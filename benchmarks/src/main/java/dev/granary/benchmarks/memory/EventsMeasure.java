package dev.granary.benchmarks.memory;

import dev.granary.benchmarks.harness.Goal;
import dev.granary.benchmarks.harness.ReportSection;

import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.RunnerException;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Measure of the cost of events for hits in memory. */
final class EventsMeasure {
    private static final String YARDSTICK = "cache";
    private static final String UNOBSERVED = "unobserved";
    private static final double RATIO_GOAL = 1.5;
    private static final double BYTES_GOAL = 0.5;

    private final MemorySettings settings;
    private final List<Map<String, RunResult>> results = new ArrayList<>();

    EventsMeasure(MemorySettings settings) {
        this.settings = settings;
    }

    void run() throws RunnerException {
        JmhRunner jmh = new JmhRunner(settings);
        for (int round = 0; round < settings.rounds(); round++) {
            results.add(jmh.run(EventsBenchmark.class, 1, Map.of()));
        }
    }

    ReportSection section() {
        ReportSection section = new ReportSection(
                "events",
                "a hit in memory with and without listeners; rounds: " + settings.rounds(),
                new ReportSection.Column("nanos", "ns", 1),
                new ReportSection.Column("ratio", "/ cache", 2),
                new ReportSection.Column("bytes", "bytes", 1));
        for (String method : List.of(YARDSTICK, UNOBSERVED, "observed", "followed")) {
            section.row(method, nanos(method), ratio(method), bytes(method));
        }
        section.goal(new Goal(
                "hit without a listener / hit of the cache alone",
                Goal.Bound.AT_MOST,
                RATIO_GOAL,
                ratio(UNOBSERVED)));
        section.goal(new Goal(
                "bytes of a hit without a listener, beyond those of the cache",
                Goal.Bound.AT_MOST,
                BYTES_GOAL,
                bytes(UNOBSERVED) - bytes(YARDSTICK)));
        section.note("cache: PrimitiveCache alone. unobserved: Granary without a listener."
                + " observed: with a listener that wants no hits in memory. followed: with one that"
                + " wants them; its queue is full, so most events are dropped. Lower quartiles.");
        return section;
    }

    private double ratio(String method) {
        return nanos(method) / nanos(YARDSTICK);
    }

    private double nanos(String method) {
        return JmhRunner.undisturbed(results.stream()
                .map(round -> Objects.requireNonNull(round.get(method), method))
                .flatMap(JmhRunner::iterations)
                .mapToDouble(iteration -> iteration.getPrimaryResult().getScore())
                .toArray());
    }

    private double bytes(String method) {
        return JmhRunner.undisturbed(results.stream()
                .mapToDouble(round -> JmhRunner.bytes(Objects.requireNonNull(round.get(method))))
                .toArray());
    }
}
