package dev.granary.benchmarks.local;

import dev.granary.benchmarks.harness.ReportSection;

import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.ToDoubleBiFunction;

/**
 * Figures of one column, by candidate and round. Each round contains a turn of each candidate, so a
 * slow round does not change the ratio of its figures.
 */
final class Rounds {
    private final Map<StoreCandidate, List<Double>> figures = new EnumMap<>(StoreCandidate.class);

    void add(StoreCandidate candidate, double figure) {
        figures.computeIfAbsent(candidate, _ -> new ArrayList<>()).add(figure);
    }

    /** Returns the median over the rounds; NaN without rounds. */
    double median(StoreCandidate candidate) {
        return median(of(candidate));
    }

    /** Returns the median over the rounds of the ratio to raw in the same round. */
    double ratioToRaw(StoreCandidate candidate) {
        List<Double> mine = of(candidate);
        List<Double> raw = of(StoreCandidate.RAW);
        List<Double> ratios = new ArrayList<>();
        for (int i = 0; i < Math.min(mine.size(), raw.size()); i++) {
            ratios.add(mine.get(i) / raw.get(i));
        }
        return median(ratios);
    }

    private List<Double> of(StoreCandidate candidate) {
        return figures.getOrDefault(candidate, List.of());
    }

    static double median(List<Double> figures) {
        List<Double> sorted = figures.stream().sorted().toList();
        return sorted.isEmpty() ? Double.NaN : sorted.get(sorted.size() / 2);
    }

    /** Returns the candidates in the order of a round, which is random. */
    static List<StoreCandidate> turns(List<StoreCandidate> candidates, long seed, int round) {
        List<StoreCandidate> turns = new ArrayList<>(candidates);
        Collections.shuffle(turns, new Random(seed * 31 + round));
        return turns;
    }

    /** Adds a row of medians for each candidate, then a row of ratios for each but raw. */
    static void addRows(
            ReportSection section, List<StoreCandidate> candidates, List<Rounds> columns) {
        for (StoreCandidate candidate : candidates) {
            addRow(section, candidate.toString(), candidate, columns, Rounds::median);
        }
        for (StoreCandidate candidate : candidates) {
            if (candidate != StoreCandidate.RAW) {
                addRow(section, candidate + "/raw", candidate, columns, Rounds::ratioToRaw);
            }
        }
    }

    private static void addRow(
            ReportSection section,
            String label,
            StoreCandidate candidate,
            List<Rounds> columns,
            ToDoubleBiFunction<Rounds, StoreCandidate> figure) {
        section.row(
                label,
                columns.stream()
                        .mapToDouble(column -> figure.applyAsDouble(column, candidate))
                        .toArray());
    }
}
