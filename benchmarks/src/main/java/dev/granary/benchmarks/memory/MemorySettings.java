package dev.granary.benchmarks.memory;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What one run measures.
 *
 * @param seed decides the trace of the miss rates
 * @param rounds how many rounds count; in each, all candidates take their turn
 * @param iterations how many iterations a candidate has in a round, after three that warm up
 * @param iterationMillis how long an iteration is
 * @param capacities the capacities of the churn, ascending
 * @param traceLength how long the trace of the miss rates is
 * @param measures what is measured
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

    /** What the figures depend on, for machines. */
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
