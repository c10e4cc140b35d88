package dev.granary.benchmarks.memory;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The settings of one run.
 *
 * @param seed decides the trace of the miss rates
 * @param rounds the number of counted rounds, each with a turn of all candidates
 * @param iterations the iterations of a candidate in a round, after three that warm up
 * @param iterationMillis the duration of an iteration
 * @param capacities the capacities of the churn, ascending
 * @param traceLength the length of the trace of the miss rates
 * @param measures the selected measures
 */
record MemorySettings(
        long seed,
        int rounds,
        int iterations,
        int iterationMillis,
        List<Integer> capacities,
        int traceLength,
        Set<MemoryMeasure> measures) {
    MemorySettings {
        capacities = List.copyOf(capacities);
        measures = Set.copyOf(measures);
    }

    /** Returns the settings that the figures depend on, for the JSON. */
    Map<String, Number> figures() {
        Map<String, Number> figures = new LinkedHashMap<>();
        figures.put("seed", seed);
        figures.put("rounds", rounds);
        figures.put("iterations", iterations);
        figures.put("iterationMillis", iterationMillis);
        figures.put("traceLength", traceLength);
        return figures;
    }
}
