package dev.granary.cli.kernel;

import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.cli.place.Places;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics.LayerStatistics;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** The failures of buckets during {@code get}, one line for each bucket. Not thread-safe. */
final class BucketFailures {
    private final List<BucketConfig> buckets;
    private final List<LayerStatistics> layers;
    private final Map<Integer, String> lines = new TreeMap<>();
    // not failures: an upload may have replaced the damage
    private final Map<Integer, String> suspicions = new TreeMap<>();

    /**
     * Creates the failures.
     *
     * @param buckets the buckets
     * @param layers their statistics, in the same order
     * @param published the results of uploads to the first writable bucket
     */
    BucketFailures(
            List<BucketConfig> buckets, List<LayerStatistics> layers, Publications published) {
        this.buckets = buckets;
        this.layers = layers;
        Optional<String> uploadFailure = published.causes().keySet().stream().findFirst();
        boolean isFirstWritable = true;
        for (int i = 0; i < layers.size(); i++) {
            LayerStatistics layer = layers.get(i);
            boolean isTarget = isFirstWritable && buckets.get(i).isWritable();
            isFirstWritable &= !isTarget;
            Optional<String> cause =
                    layer.failure().or(() -> isTarget ? uploadFailure : Optional.empty());
            long damaged = layer.count(Counter.LAYER_DAMAGED);
            long unanswered = layer.count(Counter.LAYER_UNAVAILABLE);
            if (cause.isPresent()) {
                lines.put(i, cause.get() + counts(layer, isTarget ? published.failed() : 0));
            } else if (unanswered > 0 && !hasAnswered(layer)) {
                lines.put(i, Units.plural(unanswered, "lookup") + " got no answer in time");
            } else if (damaged > 0 && layer.count(Counter.LAYER_HITS) == 0) {
                suspicions.put(
                        i,
                        Units.plural(damaged, "lookup")
                                + " found a damaged entry, and none a sound one");
            }
        }
    }

    private static String counts(LayerStatistics layer, long failedUploads) {
        List<String> counts = new ArrayList<>();
        add(counts, layer.count(Counter.LAYER_UNAVAILABLE), "lookup", "failed");
        add(counts, layer.count(Counter.LAYER_SKIPPED), "lookup", "skipped");
        add(counts, failedUploads, "upload", "failed");
        return counts.isEmpty() ? "" : " (" + String.join(", ", counts) + ")";
    }

    private static void add(List<String> counts, long count, String noun, String outcome) {
        if (count > 0) {
            counts.add(Units.plural(count, noun) + " " + outcome);
        }
    }

    /** Returns true if the bucket has answered a lookup, or has stored an entry. */
    static boolean hasAnswered(LayerStatistics layer) {
        return layer.count(Counter.LAYER_LOOKUPS) > layer.count(Counter.LAYER_UNAVAILABLE)
                || layer.count(Counter.LAYER_STORED) > 0;
    }

    /**
     * Sends one request to each bucket without failures that has answered no lookup, or only with
     * damaged entries. A server that is not S3 may return something for every name.
     */
    void probeUnproven() throws ConfigException {
        for (int i = 0; i < layers.size(); i++) {
            if (!lines.containsKey(i)
                    && (!hasAnswered(layers.get(i)) || suspicions.containsKey(i))) {
                Optional<String> problem = Places.problem(buckets.get(i));
                if (problem.isPresent()) {
                    lines.put(i, problem.get());
                }
            }
        }
    }

    /** Returns true if no bucket has failed. */
    boolean isEmpty() {
        return lines.isEmpty();
    }

    /** Reports each bucket that has failed, or has returned only damaged entries. */
    void addTo(Report report) {
        Map<Integer, String> all = new TreeMap<>(suspicions);
        all.putAll(lines);
        all.forEach((layer, line) -> report.problem(
                layers.get(layer).name() + ": " + line + "; granary doctor shows what to do"));
    }
}
