package dev.granary.coordinator.stores;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;

/** The buckets that one piece of work may be waiting for, so that a tool can say which one is silent. Thread-safe. */
public final class SilenceMonitor {
    /** A bucket that has been silent for less is not worth a word. */
    private static final Duration TOLD = Duration.ofSeconds(2);

    private final List<Map.Entry<String, Supplier<Duration>>> all = new CopyOnWriteArrayList<>();

    public SilenceMonitor() {}

    /**
     * Adds a bucket.
     *
     * @param quiet tells how long requests have been under way without a byte; zero while none is
     */
    public void watch(String bucket, Supplier<Duration> quiet) {
        all.add(Map.entry(bucket, quiet));
    }

    /** The longest wait in words, such as {@code waiting for s3://b: nothing came for 6 s}; empty while none is longer than 2 s. */
    public Optional<String> longest() {
        String bucket = "";
        Duration longest = TOLD;
        for (Map.Entry<String, Supplier<Duration>> each : all) {
            Duration quiet = each.getValue().get();
            if (quiet.compareTo(longest) > 0) {
                bucket = each.getKey();
                longest = quiet;
            }
        }
        return bucket.isEmpty() ? Optional.empty() : Optional.of("waiting for " + bucket + ": nothing came for " + longest.toSeconds() + " s");
    }
}
