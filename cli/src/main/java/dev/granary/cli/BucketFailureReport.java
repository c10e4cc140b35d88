package dev.granary.cli;

import dev.granary.cache.TierStatistics;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.admin.BucketTrial;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.statistics.LayerStatistics;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.stream.IntStream;

/** The failures of the buckets that {@code run} has used, one line for each bucket. Not thread-safe. */
final class BucketFailureReport {
    private final List<BucketConfig> buckets;
    private final List<LayerStatistics> layers;
    private final Map<Integer, String> lines = new TreeMap<>();
    private final Map<Integer, String> doubts = new TreeMap<>(); // told, and no failure: an upload may have replaced what was damaged

    /** Of those buckets, with their statistics in the same order, after uploads with those results to the first that may be written. */
    BucketFailureReport(List<BucketConfig> buckets, List<LayerStatistics> layers, PublishResults published) {
        this.buckets = List.copyOf(buckets);
        this.layers = List.copyOf(layers);
        OptionalInt written = IntStream.range(0, buckets.size()).filter(i -> buckets.get(i).isWritable()).findFirst();
        for (int i = 0; i < layers.size(); i++) {
            Optional<String> uploads = written.equals(OptionalInt.of(i)) ? published.causes().keySet().stream().findFirst() : Optional.empty();
            Optional<String> cause = layers.get(i).failure().or(() -> uploads);
            if (cause.isPresent()) {
                lines.put(i, cause.get() + counts(layers.get(i), uploads.isPresent() ? published.failed() : 0));
            } else if (hasOnlyDamaged(layers.get(i))) {
                doubts.put(i, Units.plural(damaged(layers.get(i)), "look-up") + " found a damaged entry there, none a sound one");
            }
        }
    }

    private static boolean hasOnlyDamaged(LayerStatistics layer) {
        return damaged(layer) > 0 && layer.results().hits() == 0;
    }

    private static long damaged(LayerStatistics layer) {
        return layer.results().damaged().values().stream().mapToLong(Long::longValue).sum();
    }

    private static String counts(LayerStatistics layer, long uploads) {
        List<String> counts = new ArrayList<>();
        add(counts, layer.results().unavailable(), "look-up", "failed");
        add(counts, layer.skipped(), "look-up", "skipped");
        add(counts, uploads, "upload", "failed");
        return counts.isEmpty() ? "" : " (" + String.join(", ", counts) + ")";
    }

    private static void add(List<String> counts, long count, String noun, String what) {
        if (count > 0) {
            counts.add(Units.plural(count, noun) + " " + what);
        }
    }

    /** True where one of them has answered a request, whatever the answer was. */
    static boolean isAnyAnswering(List<LayerStatistics> layers) {
        return layers.stream().anyMatch(BucketFailureReport::hasAnswered);
    }

    private static boolean hasAnswered(LayerStatistics layer) {
        TierStatistics.Snapshot results = layer.results();
        return layer.lateAnswers() + results.hits() + results.misses() - results.unavailable() + results.stored() + results.duplicates() + results.divergent()
                + results.refused() > 0;
    }

    /**
     * Sends one request to each bucket without failures that has answered no look-up, or each with a
     * damaged entry: a server that is not S3 may return something for every name.
     */
    void tryUnproven() throws ConfigException {
        for (int i = 0; i < layers.size(); i++) {
            if (!lines.containsKey(i) && (!hasAnswered(layers.get(i)) || doubts.containsKey(i))) {
                Optional<String> problem = BucketTrial.problem(buckets.get(i));
                if (problem.isPresent()) {
                    doubts.remove(i);
                    lines.put(i, problem.get());
                }
            }
        }
    }

    /** True where one has failed. */
    boolean isAny() {
        return !lines.isEmpty();
    }

    /** Prints one line for each bucket that has failed, or has given nothing but damaged entries. */
    void print(PrintWriter err) {
        Map<Integer, String> all = new TreeMap<>(doubts);
        all.putAll(lines);
        all.forEach((layer, line) -> err.println("granary: " + layers.get(layer).name() + ": " + line + "; granary doctor says what to do"));
        err.flush();
    }
}
