package dev.granary.benchmarks.local.workload;

import dev.granary.benchmarks.local.store.StoreCandidate;

import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * The values of each candidate, round by round. Each round contains a turn of each candidate, so
 * its values belong together.
 */
public final class Rounds {
    private final Map<StoreCandidate, List<Double>> values = new EnumMap<>(StoreCandidate.class);

    public void add(StoreCandidate candidate, double value) {
        values.computeIfAbsent(candidate, _ -> new ArrayList<>()).add(value);
    }

    /** Returns the median over the rounds; NaN without rounds. */
    public double median(StoreCandidate candidate) {
        return median(of(candidate));
    }

    /**
     * Returns the median over the rounds of the ratio to raw in the same round. A slow round
     * affects both values, so the ratio does not change.
     */
    public double ratioToRaw(StoreCandidate candidate) {
        return ratio(candidate, StoreCandidate.RAW);
    }

    /** Returns the median over the rounds of the ratio to {@code reference} in the same round. */
    public double ratio(StoreCandidate candidate, StoreCandidate reference) {
        List<Double> mine = of(candidate);
        List<Double> theirs = of(reference);
        List<Double> ratios = new ArrayList<>();
        for (int i = 0; i < Math.min(mine.size(), theirs.size()); i++) {
            ratios.add(mine.get(i) / theirs.get(i));
        }
        return median(ratios);
    }

    /** Returns the largest value. */
    public double max(StoreCandidate candidate) {
        return of(candidate).stream().mapToDouble(Double::doubleValue).max().orElse(Double.NaN);
    }

    /** Returns the value of the last round. */
    public double last(StoreCandidate candidate) {
        List<Double> mine = of(candidate);
        return mine.isEmpty() ? Double.NaN : mine.getLast();
    }

    private List<Double> of(StoreCandidate candidate) {
        return values.getOrDefault(candidate, List.of());
    }

    public static double median(List<Double> values) {
        List<Double> sorted = new ArrayList<>(values);
        Collections.sort(sorted);
        return sorted.isEmpty() ? Double.NaN : sorted.get(sorted.size() / 2);
    }

    /**
     * Returns the candidates in the order of a round. It differs from round to round, so that no
     * candidate always follows the same one.
     */
    public static List<StoreCandidate> turn(List<StoreCandidate> candidates, long seed, int round) {
        List<StoreCandidate> turned = new ArrayList<>(candidates);
        Collections.shuffle(turned, new Random(seed * 31 + round));
        return turned;
    }
}
