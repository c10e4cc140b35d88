package dev.granary.benchmarks.bucket.workload;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The settings of one run.
 *
 * @param content the content of the binaries
 * @param seed decides sizes and contents
 * @param entries the number of entries of the workload
 * @param rounds the number of counted rounds
 * @param delays the milliseconds that are added to each request, each as a route beside the direct
 *     one
 */
public record BucketSettings(
        PayloadKind content, long seed, int entries, int rounds, List<Integer> delays) {
    public BucketSettings {
        delays = List.copyOf(delays);
    }

    /** Returns the settings that the figures depend on, for the JSON. */
    public Map<String, Number> figures() {
        Map<String, Number> figures = new LinkedHashMap<>();
        figures.put("seed", seed);
        figures.put("entries", entries);
        figures.put("rounds", rounds);
        return figures;
    }
}
