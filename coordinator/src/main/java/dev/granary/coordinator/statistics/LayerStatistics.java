package dev.granary.coordinator.statistics;

import dev.granary.cache.TierStatistics;
import dev.granary.s3.BucketTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.statistics.BucketTierStatistics;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Snapshot of the counters of one layer.
 *
 * @param name the location of the bucket, and its endpoint if it has one; or the name of the
 *     plugged layer
 * @param results lookups and stores by result; a lookup that went on without an answer counts as
 *     unavailable
 * @param skipped lookups that skipped it because its time budget was used up
 * @param failure the cause of the first failed lookup there, in one line; empty if none failed. A
 *     single late answer is no failure
 * @param late answers under way for which no caller waits
 * @param lateAnswers answers that came too late for their callers and were no failures
 * @param requests the requests and the circuit breaker; empty if the tier is of another
 *     implementation
 */
public record LayerStatistics(
        String name,
        TierStatistics.Snapshot results,
        long skipped,
        Optional<String> failure,
        int late,
        long lateAnswers,
        Optional<Requests> requests) {
    /**
     * Returns the part of this bucket in each {@link TierCounter} that has one, by its label,
     * sorted.
     */
    public Map<String, Long> counters() {
        Map<String, Long> counters = new TreeMap<>();
        for (TierCounter counter : TierCounter.values()) {
            counter.value(this).ifPresent(count -> counters.put(counter.label(), count));
        }
        return counters;
    }

    /**
     * The requests to the bucket, and its circuit breaker. Publishing in packs has connections and
     * a breaker of its own: numbers are sums, and the state is that of the breaker that rejects
     * more.
     *
     * @param sent requests sent, retries included
     * @param retries reads that were retried after a failure
     * @param breaker the state of the circuit breaker; it stays open after its pause until the next
     *     request
     * @param breakerOpenings how often the circuit breaker opened
     */
    public record Requests(
            long sent, long retries, BucketTierStatistics.Breaker breaker, long breakerOpenings) {
        private static final List<BucketTierStatistics.Breaker> BY_REJECTION = List.of(
                BucketTierStatistics.Breaker.CLOSED,
                BucketTierStatistics.Breaker.HALF_OPEN,
                BucketTierStatistics.Breaker.OPEN);

        /** Returns the requests of lookups and unpacked entries. */
        public static Requests of(BucketTier tier) {
            BucketTierStatistics statistics = tier.statistics();
            return new Requests(
                    statistics.requests().total(),
                    statistics.retries(),
                    statistics.breaker(),
                    statistics.breakerOpenings());
        }

        /** Returns the requests of packs. */
        public static Requests of(BulkBucket packed) {
            return new Requests(
                    packed.requests().total(),
                    packed.retries(),
                    packed.breaker(),
                    packed.breakerOpenings());
        }

        /** Returns the sum over two sets of connections to one bucket. */
        public Requests plus(Requests other) {
            return new Requests(
                    sent + other.sent,
                    retries + other.retries,
                    BY_REJECTION.indexOf(breaker) >= BY_REJECTION.indexOf(other.breaker)
                            ? breaker
                            : other.breaker,
                    breakerOpenings + other.breakerOpenings);
        }
    }
}
