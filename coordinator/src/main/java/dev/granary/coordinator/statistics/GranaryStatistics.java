package dev.granary.coordinator.statistics;

import dev.granary.coordinator.Granary;
import dev.granary.gpu.composite.CompositeStatistics;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

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
 * @param counted the values that {@link Counters} has counted, in events or nanoseconds; read by
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
        Map<String, Long> counters = new TreeMap<>();
        for (Counter counter : Counter.values()) {
            counter.value(this).ifPresent(count -> counters.put(counter.label(), count));
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
}
