package dev.granary.coordinator.statistics;

import dev.granary.s3.BucketTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.statistics.BucketTierStatistics;

import java.time.Duration;
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
 * @param failure the cause of the last failure there, in one line; empty after the next answer
 * @param late lookups that got no answer in time
 * @param quiet the time since the layer sent anything; zero if no request is in progress
 * @param requests the requests and the circuit breaker; empty if the tier is of another
 *     implementation
 */
public record LayerStatistics(
        String name,
        TierStatistics results,
        long skipped,
        Optional<String> failure,
        long late,
        Duration quiet,
        Optional<Requests> requests) {
    /** Returns the part of this layer in each {@link Counter} that has one, by label, sorted. */
    public Map<String, Long> counters() {
        Map<String, Long> counters = new TreeMap<>();
        for (Counter counter : Counter.values()) {
            counter.value(this).ifPresent(count -> counters.put(counter.label(), count));
        }
        return counters;
    }

    /** Returns the same with another connection to the layer, such as that of uploads in packs. */
    public LayerStatistics plus(Requests others, Duration quietOfOthers) {
        return new LayerStatistics(
                name,
                results,
                skipped,
                failure,
                late,
                quiet.compareTo(quietOfOthers) >= 0 ? quiet : quietOfOthers,
                Optional.of(requests.map(others::plus).orElse(others)));
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
    public record Requests(long sent, long retries, Breaker breaker, long breakerOpenings) {
        /** State of a circuit breaker, in the order of how much it rejects. */
        public enum Breaker {
            CLOSED,
            HALF_OPEN,
            OPEN
        }

        /** Returns the requests of lookups and unpacked entries. */
        public static Requests of(BucketTier tier) {
            BucketTierStatistics statistics = tier.statistics();
            return new Requests(
                    statistics.requests().total(),
                    statistics.retries(),
                    Breaker.valueOf(statistics.breaker().name()),
                    statistics.breakerOpenings());
        }

        /** Returns the requests of packs. */
        public static Requests of(BulkBucket packed) {
            return new Requests(
                    packed.requests().total(),
                    packed.retries(),
                    Breaker.valueOf(packed.breaker().name()),
                    packed.breakerOpenings());
        }

        /** Returns the sum over two sets of connections to one bucket. */
        public Requests plus(Requests other) {
            return new Requests(
                    sent + other.sent,
                    retries + other.retries,
                    breaker.compareTo(other.breaker) >= 0 ? breaker : other.breaker,
                    breakerOpenings + other.breakerOpenings);
        }
    }
}
