package dev.granary.benchmarks.bucket.workload;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The settings of one run.
 *
 * @param measures the selected measures
 * @param content the content of the binaries
 * @param seed decides sizes, contents and the random values of the fleet
 * @param entries the number of entries of the workload
 * @param rounds the number of counted rounds
 * @param calls the number of counted lookups of an unpacked entry, without a delay
 * @param delays the milliseconds that are added to each request, each as a route beside the direct
 *     one
 * @param kernels the number of kernels that each node of the fleet needs
 * @param nodes the number of nodes of the fleet
 */
public record BucketSettings(
        Set<BucketMeasure> measures,
        PayloadKind content,
        long seed,
        int entries,
        int rounds,
        int calls,
        List<Integer> delays,
        int kernels,
        int nodes) {
    private static final int LEAST_TURN_MILLIS = 50;
    private static final int LONGEST_TURN_MILLIS = 1000;

    public BucketSettings {
        measures = Set.copyOf(measures);
        delays = List.copyOf(delays);
    }

    /** Returns the duration of a turn of a client. */
    public int turnMillis() {
        return Math.clamp(entries / 10, LEAST_TURN_MILLIS, LONGEST_TURN_MILLIS);
    }

    /** Returns the settings that the figures depend on, for the JSON. */
    public Map<String, Number> figures() {
        Map<String, Number> figures = new LinkedHashMap<>();
        figures.put("seed", seed);
        figures.put("entries", entries);
        figures.put("rounds", rounds);
        figures.put("calls", calls);
        figures.put("kernels", kernels);
        figures.put("nodes", nodes);
        return figures;
    }
}
