package dev.granary.coordinator.statistics;

import dev.granary.coordinator.Granary;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Snapshot of the counters of one {@link Granary}. Counters only grow.
 *
 * <p>A call for a composite primitive counts as a hit or a creation of one. If the primitive is
 * created, its nested primitives count as nested ones, and each of its programs counts as a hit or
 * miss in memory. A memory miss counts in the local tier, then in the layers, then as
 * {@link Counter#COMPILED}.
 *
 * @param layers the counters of each layer, in order
 * @param counted the other values, in events or nanoseconds; read by {@link #count} and
 *     {@link #time}
 */
public record GranaryStatistics(List<LayerStatistics> layers, Map<Counter, Long> counted) {
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
        Map<String, Long> counters = new TreeMap<>();
        for (Counter counter : Counter.values()) {
            if (!counter.isOfLayers() || !layers.isEmpty()) {
                counters.put(counter.label(), count(counter));
            }
        }
        return counters;
    }

    /** Returns the value of a counter in its unit; 0 for one of layers if there are none. */
    public long count(Counter counter) {
        return counter.inUnit(counted(counter));
    }

    private long counted(Counter counter) {
        return counter.isOfLayers()
                ? layers.stream()
                        .mapToLong(layer -> layer.counted.getOrDefault(counter, 0L))
                        .sum()
                : counted.getOrDefault(counter, 0L);
    }

    /**
     * Returns the value of a counter that is a time, such as {@link Counter#COMPILE_TIME}, in full
     * precision.
     *
     * @throws IllegalArgumentException if the counter is no time
     */
    public Duration time(Counter counter) {
        if (!counter.isTime()) {
            throw new IllegalArgumentException(counter + " is no time");
        }
        return Duration.ofNanos(counted(counter));
    }

    /**
     * Snapshot of the counters of one layer.
     *
     * @param name the location of the bucket, and its endpoint if it has one; or the name of the
     *     plugged layer
     * @param counted the counters of layers that this one has, in events or nanoseconds; a lookup
     *     that went on without an answer counts as unavailable
     * @param failure the cause of the last failure there, in one line; empty after the next answer
     * @param quiet the time since the layer sent anything; zero if no request is in progress
     * @param breaker the state of the circuit breaker; it stays open after its pause until the next
     *     request. Empty if the layer is no bucket
     */
    public record LayerStatistics(
            String name,
            Map<Counter, Long> counted,
            Optional<String> failure,
            Duration quiet,
            Optional<Breaker> breaker) {
        /** Copies {@code counted}. */
        public LayerStatistics {
            counted = Map.copyOf(counted);
        }

        /** State of a circuit breaker, in the order of how much it rejects. */
        public enum Breaker {
            CLOSED,
            HALF_OPEN,
            OPEN
        }

        /**
         * Returns the part of this layer in each {@link Counter} that has one, by label, sorted.
         */
        public Map<String, Long> counters() {
            Map<String, Long> counters = new TreeMap<>();
            counted.keySet().forEach(counter -> counters.put(counter.label(), count(counter)));
            return counters;
        }

        /** Returns the part of this layer in a counter, in its unit; 0 if it has none. */
        public long count(Counter counter) {
            return counter.inUnit(counted.getOrDefault(counter, 0L));
        }
    }
}
