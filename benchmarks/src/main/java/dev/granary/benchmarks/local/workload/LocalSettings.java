package dev.granary.benchmarks.local.workload;

import dev.granary.benchmarks.local.store.StoreCandidate;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The settings of one run.
 *
 * @param seed decides sizes, contents and orders
 * @param entries the number of entries of the workload
 * @param openEntries the number of entries of the store that is opened in a warm process
 * @param rounds the number of counted rounds, after those that warm up
 * @param measures the selected measures
 * @param candidates the compared candidates, in the order of {@link StoreCandidate}; always with
 *     raw
 */
public record LocalSettings(
        long seed,
        int entries,
        int openEntries,
        int rounds,
        Set<LocalMeasure> measures,
        List<StoreCandidate> candidates) {
    public LocalSettings {
        measures = Set.copyOf(measures);
        candidates = List.copyOf(candidates);
    }

    /**
     * Returns the candidates that have their own store, or whose store another candidate of the run
     * shares.
     */
    public List<StoreCandidate> owners() {
        return candidates.stream().map(StoreCandidate::owner).distinct().toList();
    }

    /** Returns the settings that the figures depend on, for the JSON. */
    public Map<String, Number> figures() {
        Map<String, Number> figures = new LinkedHashMap<>();
        figures.put("seed", seed);
        figures.put("entries", entries);
        figures.put("openEntries", openEntries);
        figures.put("rounds", rounds);
        return figures;
    }
}
