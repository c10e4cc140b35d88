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
    /** The shortest stall that is reported. */
    private static final Duration MIN_REPORTED = Duration.ofSeconds(2);

    private final List<Map.Entry<String, Supplier<Duration>>> buckets =
            new CopyOnWriteArrayList<>();

    public SilenceMonitor() {}

    /**
     * Adds a bucket.
     *
     * @param stallTime returns how long its requests have been without progress; zero if none is
     *     under way
     */
    public void watch(String bucket, Supplier<Duration> stallTime) {
        buckets.add(Map.entry(bucket, stallTime));
    }

    /**
     * Returns the longest stall in words, such as {@code waiting for s3://b: no data for 6 s};
     * empty if none is longer than 2 s.
     */
    public Optional<String> longest() {
        String bucket = "";
        Duration longest = MIN_REPORTED;
        for (Map.Entry<String, Supplier<Duration>> each : buckets) {
            Duration stallTime = each.getValue().get();
            if (stallTime.compareTo(longest) > 0) {
                bucket = each.getKey();
                longest = stallTime;
            }
        }
        return bucket.isEmpty()
                ? Optional.empty()
                : Optional.of(
                        "waiting for " + bucket + ": no data for " + longest.toSeconds() + " s");
    }
}
