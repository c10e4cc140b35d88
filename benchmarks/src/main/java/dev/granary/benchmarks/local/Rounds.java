package dev.granary.benchmarks.local;

import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * What was measured of each candidate, round by round. In each round all candidates take their
 * turn: its values belong together.
 */
final class Rounds {
    private final Map<StoreCandidate, List<Double>> values = new EnumMap<>(StoreCandidate.class);

    void add(StoreCandidate candidate, double value) {
        values.computeIfAbsent(candidate, _ -> new ArrayList<>()).add(value);
    }

    /** The median over the rounds; not a number where there is none. */
    double median(StoreCandidate candidate) {
        return median(of(candidate));
    }

    /**
     * The median over the rounds of the ratio to raw in the same round: what slows a whole round
     * down does not count.
     */
    double ratioToRaw(StoreCandidate candidate) {
        List<Double> mine = of(candidate);
        List<Double> raw = of(StoreCandidate.RAW);
        List<Double> ratios = new ArrayList<>();
        for (int i = 0; i < Math.min(mine.size(), raw.size()); i++) {
            ratios.add(mine.get(i) / raw.get(i));
        }
        return median(ratios);
    }

    /** The largest value. */
    double max(StoreCandidate candidate) {
        return of(candidate).stream().mapToDouble(Double::doubleValue).max().orElse(Double.NaN);
    }

    /** The value of the last round. */
    double last(StoreCandidate candidate) {
        List<Double> mine = of(candidate);
        return mine.isEmpty() ? Double.NaN : mine.getLast();
    }

    private List<Double> of(StoreCandidate candidate) {
        return values.getOrDefault(candidate, List.of());
    }

    static double median(List<Double> values) {
        List<Double> sorted = new ArrayList<>(values);
        Collections.sort(sorted);
        return sorted.isEmpty() ? Double.NaN : sorted.get(sorted.size() / 2);
    }

    /**
     * The candidates in the order of a round, another one in each: nobody always follows the same
     * one.
     */
    static List<StoreCandidate> turn(List<StoreCandidate> candidates, long seed, int round) {
        List<StoreCandidate> turned = new ArrayList<>(candidates);
        Collections.shuffle(turned, new Random(seed * 31 + round));
        return turned;
    }
}
