package dev.granary.benchmarks.bucket;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What one run measures.
 *
 * @param measures what is measured
 * @param content what the binaries of the workload hold
 * @param seed decides sizes, contents and the fleet's random numbers
 * @param entries how many entries the workload has
 * @param rounds how many rounds count
 * @param calls how many look-ups of a loose entry count, without a delay
 * @param delays the milliseconds that are added to each request, each a way of its own beside the
 *     direct one
 * @param kernels how many kernels each node of the fleet needs
 * @param nodes how many nodes the fleet has
 */
record BucketSettings(
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

    BucketSettings {
        measures = Set.copyOf(measures);
        delays = List.copyOf(delays);
    }

    /** How long a turn of a client takes. */
    int turnMillis() {
        return Math.clamp(entries / 10, LEAST_TURN_MILLIS, LONGEST_TURN_MILLIS);
    }

    /** What the figures depend on, for machines. */
    Map<String, Number> figures() {
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
