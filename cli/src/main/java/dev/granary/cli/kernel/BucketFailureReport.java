package dev.granary.cli.kernel;

import dev.granary.cli.output.Units;
import dev.granary.cli.place.Places;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.statistics.GranaryStatistics.LayerStatistics;
import dev.granary.coordinator.statistics.GranaryStatistics.TierStatistics;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.stream.IntStream;

/** Report of the bucket failures during {@code get}, one line for each bucket. Not thread-safe. */
final class BucketFailureReport {
    private final List<BucketConfig> buckets;
    private final List<LayerStatistics> layers;
    private final Map<Integer, String> lines = new TreeMap<>();
    // not failures: an upload may have replaced the damage
    private final Map<Integer, String> suspicions = new TreeMap<>();

    /**
     * Creates a report.
     *
     * @param buckets the buckets
     * @param layers their statistics, in the same order
     * @param published the results of uploads to the first writable bucket
     */
    BucketFailureReport(
            List<BucketConfig> buckets, List<LayerStatistics> layers, PublishResults published) {
        this.buckets = List.copyOf(buckets);
        this.layers = List.copyOf(layers);
        OptionalInt firstWritable = IntStream.range(0, buckets.size())
                .filter(i -> buckets.get(i).isWritable())
                .findFirst();
        for (int i = 0; i < layers.size(); i++) {
            Optional<String> uploadFailure = firstWritable.equals(OptionalInt.of(i))
                    ? published.causes().keySet().stream().findFirst()
                    : Optional.empty();
            Optional<String> cause = layers.get(i).failure().or(() -> uploadFailure);
            if (cause.isPresent()) {
                lines.put(
                        i,
                        cause.get()
                                + counts(
                                        layers.get(i),
                                        uploadFailure.isPresent() ? published.failed() : 0));
            } else if (layers.get(i).late() > 0 && !hasAnswered(layers.get(i))) {
                lines.put(
                        i, Units.plural(layers.get(i).late(), "lookup") + " got no answer in time");
            } else if (hasOnlyDamaged(layers.get(i))) {
                suspicions.put(
                        i,
                        Units.plural(damaged(layers.get(i)), "lookup")
                                + " found a damaged entry, and none a sound one");
            }
        }
    }

    private static boolean hasOnlyDamaged(LayerStatistics layer) {
        return damaged(layer) > 0 && layer.results().hits() == 0;
    }

    private static long damaged(LayerStatistics layer) {
        return layer.results().damaged().values().stream()
                .mapToLong(Long::longValue)
                .sum();
    }

    private static String counts(LayerStatistics layer, long failedUploads) {
        List<String> counts = new ArrayList<>();
        add(counts, layer.results().unavailable(), "lookup", "failed");
        add(counts, layer.skipped(), "lookup", "skipped");
        add(counts, failedUploads, "upload", "failed");
        return counts.isEmpty() ? "" : " (" + String.join(", ", counts) + ")";
    }

    private static void add(List<String> counts, long count, String noun, String outcome) {
        if (count > 0) {
            counts.add(Units.plural(count, noun) + " " + outcome);
        }
    }

    /** Returns true if at least one bucket has answered a request, with whatever result. */
    static boolean hasAnyAnswered(List<LayerStatistics> layers) {
        return layers.stream().anyMatch(BucketFailureReport::hasAnswered);
    }

    private static boolean hasAnswered(LayerStatistics layer) {
        TierStatistics results = layer.results();
        return results.hits()
                        + results.misses()
                        - results.unavailable()
                        + results.stored()
                        + results.duplicates()
                        + results.divergent()
                        + results.refused()
                > 0;
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
                    suspicions.remove(i);
                    lines.put(i, problem.get());
                }
            }
        }
    }

    /** Returns true if at least one bucket has failed. */
    boolean hasFailures() {
        return !lines.isEmpty();
    }

    /** Prints one line for each bucket that has failed, or has returned only damaged entries. */
    void print(PrintWriter err) {
        Map<Integer, String> all = new TreeMap<>(suspicions);
        all.putAll(lines);
        all.forEach((layer, line) -> err.println("granary: " + layers.get(layer).name() + ": "
                + line + "; granary doctor shows what to do"));
        err.flush();
    }
}
