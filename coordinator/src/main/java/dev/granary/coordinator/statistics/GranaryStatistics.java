package dev.granary.coordinator.statistics;

import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.statistics.GranaryStatistics.TierStatistics;
import dev.granary.gpu.composite.CompositeCache.CompositeStatistics;
import dev.granary.s3.BucketTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.statistics.BucketTierStatistics;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * Snapshot of the counters of one {@link Granary}. Counters only grow.
 *
 * <p>A call for a handle counts in {@code composites}. If the primitive is created, its nested
 * primitives count there too, and each of its programs counts as a memory hit or miss. A memory
 * miss counts in {@code local}, then in {@code layers}, then as {@link Counter#COMPILED}.
 *
 * @param composites hits and creations of composite primitives, nested ones included
 * @param memoryHits programs that were in memory already
 * @param memoryMisses programs that were not yet in memory
 * @param local the results of the local tier
 * @param layers the results of each layer, in order
 * @param counted the values that are counted one by one, in events or nanoseconds; read by
 *     {@link #count} and {@link #time}
 */
public record GranaryStatistics(
        CompositeStatistics composites,
        long memoryHits,
        long memoryMisses,
        TierStatistics local,
        List<LayerStatistics> layers,
        Map<Counter, Long> counted) {
    /** Creates a snapshot with copies of {@code layers} and {@code counted}. */
    public GranaryStatistics {
        layers = List.copyOf(layers);
        counted = Map.copyOf(counted);
    }

    /**
     * Returns the value of each {@link Counter} by its label, sorted. Counters of layers are
     * missing if there is no layer.
     */
    public Map<String, Long> counters() {
        return byLabel(counter -> counter.value(this));
    }

    private static Map<String, Long> byLabel(Function<Counter, OptionalLong> value) {
        Map<String, Long> counters = new TreeMap<>();
        for (Counter counter : Counter.values()) {
            value.apply(counter).ifPresent(count -> counters.put(counter.label(), count));
        }
        return counters;
    }

    /** Returns the value of a counter in its unit; 0 for one of layers if there are none. */
    public long count(Counter counter) {
        return counter.value(this).orElse(0);
    }

    /**
     * Returns the value of a counter that is a time, such as {@link Counter#COMPILE_TIME}, in full
     * precision.
     *
     * @throws IllegalArgumentException if the counter is no time
     */
    public Duration time(Counter counter) {
        if (counter.unit() != Counter.Unit.MILLISECONDS
                && counter.unit() != Counter.Unit.MICROSECONDS) {
            throw new IllegalArgumentException(counter + " is no time");
        }
        return Duration.ofNanos(counter.counted(this));
    }

    /**
     * Snapshot of the counters of one tier, read one after the other while they may grow.
     *
     * @param hits lookups that found a verified entry
     * @param absent lookups that found nothing
     * @param damaged lookups that found damage, by kind; only kinds that occurred
     * @param unavailable lookups without an answer
     * @param bytesRead bytes of binaries in the hits
     * @param loadNanos time spent in all lookups, in nanoseconds
     * @param stored entries written
     * @param bytesStored bytes written, as stored
     * @param duplicates stores that found the same content
     * @param divergent stores that found different content, which stayed
     * @param refused stores that were rejected
     * @param failed stores that failed
     * @param unknown stores with an unknown outcome
     */
    public record TierStatistics(
            long hits,
            long absent,
            Map<DamageKind, Long> damaged,
            long unavailable,
            long bytesRead,
            long loadNanos,
            long stored,
            long bytesStored,
            long duplicates,
            long divergent,
            long refused,
            long failed,
            long unknown) {
        /** Copies the map. */
        public TierStatistics {
            damaged = Map.copyOf(damaged);
        }

        /** Returns the number of lookups that were not hits. */
        public long misses() {
            return absent
                    + unavailable
                    + damaged.values().stream().mapToLong(Long::longValue).sum();
        }
    }

    /**
     * Snapshot of the counters of one layer.
     *
     * @param name the location of the bucket, and its endpoint if it has one; or the name of the
     *     plugged layer
     * @param results lookups and stores by result; a lookup that went on without an answer counts
     *     as unavailable
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
        /**
         * Returns the part of this layer in each {@link Counter} that has one, by label, sorted.
         */
        public Map<String, Long> counters() {
            return byLabel(counter -> counter.value(this));
        }

        /**
         * Returns the same with another connection to the layer, such as that of uploads in packs.
         */
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
         * The requests to the bucket, and its circuit breaker. Publishing in packs has connections
         * and a breaker of its own: numbers are sums, and the state is that of the breaker that
         * rejects more.
         *
         * @param sent requests sent, retries included
         * @param retries reads that were retried after a failure
         * @param breaker the state of the circuit breaker; it stays open after its pause until the
         *     next request
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
}
