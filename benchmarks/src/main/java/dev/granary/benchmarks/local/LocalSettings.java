package dev.granary.benchmarks.local;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Settings of a run.
 *
 * @param seed decides sizes, contents and orders
 * @param entries the number of entries of each set
 * @param manyEntries the number of entries of the store that is scanned
 * @param rounds the number of counted rounds, after those that warm up
 * @param measures the selected measures
 * @param candidates the compared candidates, in the order of {@link StoreCandidate}; always with
 *     raw
 */
record LocalSettings(
        long seed,
        int entries,
        int manyEntries,
        int rounds,
        Set<Measure> measures,
        List<StoreCandidate> candidates) {
    LocalSettings {
        measures = Set.copyOf(measures);
        candidates = List.copyOf(candidates);
    }

    /** Measure, with one table in the output. */
    enum Measure {
        /** Reads of entries. */
        GET,
        /** Stores of new entries. */
        PUT,
        /** Stores of present entries with other content. */
        REPLACE,
        /** Stores in a full store. */
        EVICT,
        /** Very many entries. */
        SCAN,
        /** A new process. */
        START
    }

    /** Returns the candidates that write files of their own. */
    List<StoreCandidate> owners() {
        return candidates.stream().map(StoreCandidate::owner).distinct().toList();
    }

    /** Returns the settings that the figures depend on, for the JSON. */
    Map<String, Number> figures() {
        Map<String, Number> figures = new LinkedHashMap<>();
        figures.put("seed", seed);
        figures.put("entries", entries);
        figures.put("manyEntries", manyEntries);
        figures.put("rounds", rounds);
        return figures;
    }
}
