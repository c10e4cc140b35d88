package dev.granary.benchmarks.local;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What one run measures.
 *
 * @param seed decides sizes, contents and orders
 * @param entries how many entries the workload has
 * @param openEntries how many entries the store has that is opened in a warm process
 * @param rounds how many rounds count, after those that warm up
 * @param measures what is measured
 * @param candidates what is compared, in the order of {@link StoreCandidate}; raw always
 */
record LocalSettings(
        long seed,
        int entries,
        int openEntries,
        int rounds,
        Set<LocalMeasure> measures,
        List<StoreCandidate> candidates) {
    LocalSettings {
        measures = Set.copyOf(measures);
        candidates = List.copyOf(candidates);
    }

    /** The candidates that have a store of their own, or whose store another of the run shares. */
    List<StoreCandidate> owners() {
        return candidates.stream().map(StoreCandidate::owner).distinct().toList();
    }

    /** What the figures depend on, for machines. */
    Map<String, Number> figures() {
        Map<String, Number> figures = new LinkedHashMap<>();
        figures.put("seed", seed);
        figures.put("entries", entries);
        figures.put("openEntries", openEntries);
        figures.put("rounds", rounds);
        return figures;
    }
}
