package dev.granary.s3;

import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.config.S3Location;

import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/**
 * Looks up many ids concurrently, each on a virtual thread, and prints the results. Entries are
 * verified and dropped.
 */
final class BulkFetchProcess {
    /** Parts of the causes of lookups that were too late. */
    private static final List<String> LATE_CAUSES = List.of(
            "no time left for a request",
            "waiting",
            "took all the time",
            "takes too long",
            "no requests are sent");

    private BulkFetchProcess() {}

    static Id id(int number) {
        return TestEntries.id("bulk-" + number);
    }

    /**
     * Arguments: client, endpoint, access key, secret, location, lookups, ids, connections, request
     * timeout and load deadline in milliseconds.
     */
    public static void main(String[] args) throws InterruptedException {
        int loads = Integer.parseInt(args[5]);
        int ids = Integer.parseInt(args[6]);
        S3Config config = S3Config.builder(S3Location.parse(args[4]))
                .endpoint(URI.create(args[1]))
                .client(S3ClientLibrary.valueOf(args[0]))
                .credentials(args[2], args[3])
                .maxConnections(Integer.parseInt(args[7]))
                .requestTimeout(millis(args[8]))
                .loadDeadline(millis(args[9]))
                .stallTimeout(millis(args[8]))
                .build();
        Map<String, LongAdder> counts = new ConcurrentHashMap<>();
        AtomicLong longest = new AtomicLong();
        try (BucketTier tier = BucketTier.open(config)) {
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                for (int i = 0; i < loads; i++) {
                    Id id = id(i % ids);
                    threads.execute(() -> {
                        long start = System.nanoTime();
                        String result = result(tier, id);
                        longest.accumulateAndGet(System.nanoTime() - start, Math::max);
                        counts.computeIfAbsent(result, _ -> new LongAdder()).increment();
                    });
                }
            }
            counts.forEach(
                    (result, count) -> System.out.println(result.replace('=', ' ') + "=" + count));
            System.out.println("gets=" + tier.statistics().requests().get());
            System.out.println("heads=" + tier.statistics().requests().head());
            System.out.println("longest=" + Duration.ofNanos(longest.get()).toMillis());
        }
    }

    private static String result(BucketTier tier, Id id) {
        try {
            return switch (tier.load(id)) {
                case LoadResult.Hit hit -> hit.entry().id().equals(id) ? "hit" : "another's";
                case LoadResult.Absent _ -> "absent";
                case LoadResult.Damaged bad -> "damaged: " + bad;
                case LoadResult.Unavailable lost ->
                    LATE_CAUSES.stream().anyMatch(lost.cause()::contains) ? "late" : lost.cause();
            };
        } catch (RuntimeException | Error e) {
            return "thrown: " + e;
        }
    }

    private static Duration millis(String text) {
        return Duration.ofMillis(Long.parseLong(text));
    }
}
