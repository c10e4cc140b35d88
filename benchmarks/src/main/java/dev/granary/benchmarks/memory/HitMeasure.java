package dev.granary.benchmarks.memory;

import dev.granary.benchmarks.harness.Goal;
import dev.granary.benchmarks.harness.Goal.Bound;
import dev.granary.benchmarks.harness.ReportSection;

import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.RunnerException;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;

/** Measure of hits of all candidates with one and with two threads, in rounds. */
final class HitMeasure {
    private static final int MOST_THREADS = 2;
    private static final double RATIO_GOAL = 1.4;
    private static final double ALLOCATION_GOAL = 0.01; // bytes, which the profiler allocates
    private static final double ONEDNN_GOAL = 15;

    private final MemorySettings settings;
    // by threads - 1, by round
    private final List<List<Map<String, RunResult>>> rounds = new ArrayList<>();

    HitMeasure(MemorySettings settings) {
        this.settings = settings;
    }

    void run() throws RunnerException {
        JmhRunner jmh = new JmhRunner(settings);
        for (int threads = 1; threads <= MOST_THREADS; threads++) {
            rounds.add(new ArrayList<>());
        }
        for (int round = 0; round < settings.rounds(); round++) {
            for (int threads = 1; threads <= MOST_THREADS; threads++) {
                rounds.get(threads - 1).add(jmh.run(HitBenchmark.class, threads, Map.of()));
            }
        }
    }

    /** Returns the table; {@code oneDnnNanos} is a hit of oneDNN, NaN if it is not installed. */
    ReportSection section(double oneDnnNanos) {
        ReportSection section = new ReportSection(
                "hit",
                "a hit, one key after the other; rounds: " + settings.rounds(),
                new ReportSection.Column("oneNanos", "1 thr ns", 1),
                new ReportSection.Column("oneRatio", "/ map", 2),
                new ReportSection.Column("oneCaffeineRatio", "/ caff.", 2),
                new ReportSection.Column("twoNanos", "2 thr ns", 1),
                new ReportSection.Column("twoRatio", "/ map", 2),
                new ReportSection.Column("twoCaffeineRatio", "/ caff.", 2),
                new ReportSection.Column("bytes", "bytes", 3));
        for (HitCandidate candidate : HitCandidate.values()) {
            section.row(
                    candidate.label(),
                    nanos(candidate, 1),
                    ratio(candidate, 1),
                    ratio(candidate, 1) / ratio(HitCandidate.CAFFEINE, 1),
                    nanos(candidate, 2),
                    ratio(candidate, 2),
                    ratio(candidate, 2) / ratio(HitCandidate.CAFFEINE, 2),
                    bytes(candidate));
        }
        for (HitCandidate candidate : HitCandidate.values()) {
            goals(section, candidate, oneDnnNanos);
        }
        section.note(
                "/ map: against ConcurrentHashMap.get, which has every other millisecond in the"
                        + " same JVM, so that what else the machine does meets both; medians of all"
                        + " iterations. The row of the map is another one, which shows what the"
                        + " measurement adds. / caff.: / map by Caffeine's. ns: lower quartiles."
                        + " bytes: allocated by a hit, the worse of one and two threads. A constant"
                        + " is requested and released, or held and used while it is cached. With"
                        + " two threads, each runtime-parameters cache belongs to one.");
        return section;
    }

    private void goals(ReportSection section, HitCandidate candidate, double oneDnnNanos) {
        for (int threads = 1;
                threads <= MOST_THREADS && candidate.isHeldAgainstOthers();
                threads++) {
            String name = candidate.label() + ", threads: " + threads;
            section.goal(new Goal(
                    name + ", hit / map", Bound.AT_MOST, RATIO_GOAL, ratio(candidate, threads)));
            section.goal(new Goal(
                    name + ", hit / Caffeine's",
                    Bound.AT_MOST,
                    1,
                    ratio(candidate, threads) / ratio(HitCandidate.CAFFEINE, threads)));
        }
        if (candidate.isOurs()) {
            section.goal(new Goal(
                    candidate.label() + ", bytes allocated by a hit",
                    Bound.AT_MOST,
                    ALLOCATION_GOAL,
                    bytes(candidate)));
        }
        if (candidate.isHeldAgainstOthers()) {
            section.goal(new Goal(
                    candidate.label() + ", oneDNN's hit / hit",
                    Bound.AT_LEAST,
                    ONEDNN_GOAL,
                    oneDnnNanos / nanos(candidate, 1)));
        }
    }

    /** Returns the time of an undisturbed hit. */
    private double nanos(HitCandidate candidate, int threads) {
        return JmhRunner.undisturbed(results(candidate, threads)
                .flatMap(JmhRunner::iterations)
                .mapToDouble(iteration ->
                        count(iteration, "nanos") / (count(iteration, "batches") * HitTurns.BATCH))
                .toArray());
    }

    /** Returns the median over all rounds of the times of candidate and map within an iteration. */
    private double ratio(HitCandidate candidate, int threads) {
        return JmhRunner.median(results(candidate, threads)
                .flatMap(JmhRunner::iterations)
                .mapToDouble(HitMeasure::ratio)
                .toArray());
    }

    private static double ratio(IterationResult iteration) {
        return count(iteration, "nanos")
                / count(iteration, "batches")
                / (count(iteration, "yardstickNanos") / count(iteration, "yardstickBatches"));
    }

    /**
     * Returns the bytes that a hit allocates, the larger value of one and two threads. Hits of the
     * map allocate nothing.
     */
    private double bytes(HitCandidate candidate) {
        double worst = 0;
        for (int threads = 1; threads <= MOST_THREADS; threads++) {
            worst = Math.max(
                    worst,
                    JmhRunner.median(results(candidate, threads)
                            .mapToDouble(HitMeasure::bytes)
                            .toArray()));
        }
        return worst;
    }

    private static double bytes(RunResult result) {
        double batches = JmhRunner.iterations(result)
                .mapToDouble(iteration -> count(iteration, "batches"))
                .sum();
        double all = batches
                + JmhRunner.iterations(result)
                        .mapToDouble(iteration -> count(iteration, "yardstickBatches"))
                        .sum();
        return JmhRunner.bytes(result) * all / (batches * HitTurns.BATCH);
    }

    /** Returns the sum of a counter of {@link HitTurns} over all threads. */
    private static double count(IterationResult iteration, String counter) {
        return Objects.requireNonNull(iteration.getSecondaryResults().get(counter), counter)
                .getScore();
    }

    private Stream<RunResult> results(HitCandidate candidate, int threads) {
        return rounds.get(threads - 1).stream()
                .map(round ->
                        Objects.requireNonNull(round.get(candidate.method()), candidate.method()));
    }
}
