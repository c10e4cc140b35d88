package dev.granary.cli.output;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;
import java.util.stream.Stream;

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
        return longest(buckets.stream()
                .map(each -> Map.entry(each.getKey(), each.getValue().get())));
    }

    /**
     * Returns the longest of these waits in words, as {@link #longest()} does.
     *
     * @param waits the buckets with the time since they sent anything
     */
    public static Optional<String> longest(Stream<Map.Entry<String, Duration>> waits) {
        return waits.filter(wait -> wait.getValue().compareTo(MIN_REPORTED) > 0)
                .max(Map.Entry.comparingByValue())
                .map(wait -> "waiting for " + wait.getKey() + ": nothing received for "
                        + wait.getValue().toSeconds() + " s");
    }
}
