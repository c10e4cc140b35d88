package dev.granary.it.bench.memory;

import dev.granary.it.bench.Goal;
import dev.granary.it.bench.Goal.Bound;
import dev.granary.it.bench.Section;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.openjdk.jmh.runner.RunnerException;

/** Hits of all candidates with one and with two threads, in rounds. */
final class HitMeasure {
    private static final int MOST_THREADS = 2;
    private static final double RATIO_GOAL = 1.2;
    private static final double ALLOCATION_GOAL = 0.01; // of a byte: the profiler's own share
    private static final double ONEDNN_GOAL = 15;

    private final Settings settings;
    private final List<List<Map<String, Jmh.Figure>>> rounds = new ArrayList<>(); // by threads - 1, by round

    HitMeasure(Settings settings) {
        this.settings = settings;
    }

    void run() throws RunnerException {
        Jmh jmh = new Jmh(settings);
        for (int threads = 1; threads <= MOST_THREADS; threads++) {
            rounds.add(new ArrayList<>());
        }
        for (int round = 0; round < settings.rounds(); round++) {
            for (int threads = 1; threads <= MOST_THREADS; threads++) {
                rounds.get(threads - 1).add(jmh.run(HitBenchmark.class, threads, Map.of()));
            }
        }
    }

    /** The table; {@code oneDnnNanos} is a hit of oneDNN, not a number where it is not there. */
    Section section(double oneDnnNanos) {
        Section section = new Section("hit", "a hit, one key after the other; lower quartiles of " + settings.rounds() + " rounds",
                new Section.Column("oneNanos", "1 thr ns", 1), new Section.Column("oneRatio", "/ map", 2),
                new Section.Column("oneCaffeineRatio", "/ caff.", 2),
                new Section.Column("twoNanos", "2 thr ns", 1), new Section.Column("twoRatio", "/ map", 2),
                new Section.Column("twoCaffeineRatio", "/ caff.", 2), new Section.Column("bytes", "bytes", 3));
        for (HitCandidate candidate : HitCandidate.values()) {
            section.row(candidate.label(), nanos(candidate, 1), ratio(candidate, HitCandidate.MAP, 1), ratio(candidate, HitCandidate.CAFFEINE, 1),
                    nanos(candidate, 2), ratio(candidate, HitCandidate.MAP, 2), ratio(candidate, HitCandidate.CAFFEINE, 2), bytes(candidate));
        }
        for (HitCandidate candidate : HitCandidate.values()) {
            goals(section, candidate, oneDnnNanos);
        }
        section.note("/ map: against ConcurrentHashMap.get, / caff.: against Caffeine, in the same rounds. bytes: allocated by a hit, the worse of one and "
                + "two threads. primitive w-tlfu is Caffeine and a counter. A constant is asked for and given back, or held and used while it is "
                + "cached. With two threads, each runtime-parameters cache belongs to one.");
        return section;
    }

    private void goals(Section section, HitCandidate candidate, double oneDnnNanos) {
        for (int threads = 1; threads <= MOST_THREADS && candidate.isHeldAgainstOthers(); threads++) {
            String name = candidate.label() + ", threads: " + threads;
            section.goal(new Goal(name + ", hit / map", Bound.AT_MOST, RATIO_GOAL, ratio(candidate, HitCandidate.MAP, threads)));
            section.goal(new Goal(name + ", hit / Caffeine's", Bound.AT_MOST, 1, ratio(candidate, HitCandidate.CAFFEINE, threads)));
        }
        if (candidate.isOurs()) {
            section.goal(new Goal(candidate.label() + ", bytes allocated by a hit", Bound.AT_MOST, ALLOCATION_GOAL, bytes(candidate)));
        }
        if (candidate.isHeldAgainstOthers()) {
            section.goal(new Goal(candidate.label() + ", oneDNN's hit / hit", Bound.AT_LEAST, ONEDNN_GOAL, oneDnnNanos / nanos(candidate, 1)));
        }
    }

    private double nanos(HitCandidate candidate, int threads) {
        return Jmh.undisturbed(rounds.get(threads - 1).stream().map(round -> figure(round, candidate)).toList());
    }

    private double ratio(HitCandidate candidate, HitCandidate to, int threads) {
        return nanos(candidate, threads) / nanos(to, threads);
    }

    private double bytes(HitCandidate candidate) {
        double worst = 0;
        for (int threads = 1; threads <= MOST_THREADS; threads++) {
            worst = Math.max(worst, Jmh.median(rounds.get(threads - 1).stream().mapToDouble(round -> figure(round, candidate).bytes()).toArray()));
        }
        return worst;
    }

    private static Jmh.Figure figure(Map<String, Jmh.Figure> round, HitCandidate candidate) {
        return Objects.requireNonNull(round.get(candidate.method()), candidate.method());
    }
}
