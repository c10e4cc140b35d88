package dev.granary.coordinator.statistics;

import dev.granary.cache.TierStatistics;
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
 * miss counts in {@code local}, then in {@code layers}, then as {@link LookupCounter#COMPILED}.
 *
 * @param composites hits and creations of composite primitives, nested ones included
 * @param memoryHits programs that were in memory already
 * @param memoryMisses programs that were not yet in memory
 * @param local the results of the local tier
 * @param layers the results of each layer, in order
 * @param lookups the counters of lookups besides the tiers, in events or nanoseconds; read by
 *     {@link #count} and {@link #time}
 */
public record GranaryStatistics(
        CompositeStatistics composites,
        long memoryHits,
        long memoryMisses,
        TierStatistics.Snapshot local,
        List<LayerStatistics> layers,
        Map<LookupCounter, Long> lookups) {
    /** Creates a snapshot with copies of {@code layers} and {@code lookups}. */
    public GranaryStatistics {
        layers = List.copyOf(layers);
        lookups = Map.copyOf(lookups);
    }

    /**
     * Returns the value of each {@link TierCounter} and {@link LookupCounter} by its label, sorted.
     * Counters of buckets are missing if none is configured.
     */
    public Map<String, Long> counters() {
        Map<String, Long> counters = new TreeMap<>();
        for (TierCounter counter : TierCounter.values()) {
            counter.value(this).ifPresent(count -> counters.put(counter.label(), count));
        }
        for (LookupCounter counter : LookupCounter.values()) {
            counters.put(counter.label(), count(counter));
        }
        return counters;
    }

    /** Returns the value of a counter in its unit. */
    public long count(LookupCounter counter) {
        return counter.unit().of(counted(counter));
    }

    /**
     * Returns the value of a counter that is a time, such as {@link LookupCounter#COMPILE_TIME}, in
     * full precision.
     *
     * @throws IllegalArgumentException if the counter counts events
     */
    public Duration time(LookupCounter counter) {
        if (counter.unit() != LookupCounter.Unit.MILLISECONDS
                && counter.unit() != LookupCounter.Unit.MICROSECONDS) {
            throw new IllegalArgumentException(counter + " is no time");
        }
        return Duration.ofNanos(counted(counter));
    }

    private long counted(LookupCounter counter) {
        return lookups.getOrDefault(counter, 0L);
    }
}
