package dev.granary.benchmarks.memory;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The settings of one run.
 *
 * @param rounds the number of counted rounds, each with a turn of all candidates
 * @param iterations the iterations of a candidate in a round, after three that warm up
 * @param iterationMillis the duration of an iteration
 * @param capacities the capacities of the churn, ascending
 * @param measures the selected measures
 */
record MemorySettings(
        int rounds,
        int iterations,
        int iterationMillis,
        List<Integer> capacities,
        Set<MemoryMeasure> measures) {
    MemorySettings {
        capacities = List.copyOf(capacities);
        measures = Set.copyOf(measures);
    }

    /** Returns the settings that the figures depend on, for the JSON. */
    Map<String, Number> figures() {
        Map<String, Number> figures = new LinkedHashMap<>();
        figures.put("rounds", rounds);
        figures.put("iterations", iterations);
        figures.put("iterationMillis", iterationMillis);
        return figures;
    }
}
