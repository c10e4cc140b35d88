package dev.granary.coordinator.observe;

import dev.granary.coordinator.statistics.Counter;

import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.LongAdder;

/** Values of counters. Thread-safe; they only grow. */
public final class Counters {
    private final Map<Counter, LongAdder> adders = new EnumMap<>(Counter.class);

    public Counters() {
        this(EnumSet.allOf(Counter.class));
    }

    public Counters(Set<Counter> counted) {
        counted.forEach(counter -> adders.put(counter, new LongAdder()));
    }

    public void increment(Counter counter) {
        add(counter, 1);
    }

    /** Counts {@code amount} events or, if the counter is a time, nanoseconds. */
    public void add(Counter counter, long amount) {
        adder(counter).add(amount);
    }

    public long sum(Counter counter) {
        return adder(counter).sum();
    }

    public Map<Counter, Long> snapshot() {
        Map<Counter, Long> values = new EnumMap<>(Counter.class);
        adders.forEach((counter, adder) -> values.put(counter, adder.sum()));
        return values;
    }

    private LongAdder adder(Counter counter) {
        return Objects.requireNonNull(adders.get(counter));
    }
}
