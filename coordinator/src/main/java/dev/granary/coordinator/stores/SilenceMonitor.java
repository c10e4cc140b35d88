package dev.granary.coordinator.stores;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;

/**
 * Monitor of the buckets that an operation may wait for, for tools that show which one is silent.
 * Thread-safe.
 */
public final class SilenceMonitor {
    /** The shortest wait that is reported. */
    private static final Duration MIN_REPORTED = Duration.ofSeconds(2);

    private final List<Map.Entry<String, Supplier<Duration>>> buckets =
            new CopyOnWriteArrayList<>();

    public SilenceMonitor() {}

    /**
     * Adds a bucket.
     *
     * @param quiet returns the time since it sent anything; zero if no request is in progress
     */
    public void watch(String bucket, Supplier<Duration> quiet) {
        buckets.add(Map.entry(bucket, quiet));
    }

    /**
     * Returns the longest wait in words, such as {@code waiting for s3://b: nothing received for 6
     * s}; empty if none is longer than 2 s.
     */
    public Optional<String> longest() {
        String bucket = "";
        Duration longest = MIN_REPORTED;
        for (Map.Entry<String, Supplier<Duration>> each : buckets) {
            Duration quiet = each.getValue().get();
            if (quiet.compareTo(longest) > 0) {
                bucket = each.getKey();
                longest = quiet;
            }
        }
        return bucket.isEmpty()
                ? Optional.empty()
                : Optional.of("waiting for " + bucket + ": nothing received for "
                        + longest.toSeconds() + " s");
    }
}
