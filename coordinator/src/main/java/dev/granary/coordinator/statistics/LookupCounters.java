package dev.granary.coordinator.statistics;

import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;

/** Values of all {@link LookupCounter}s. Thread-safe; counters only grow. */
public final class LookupCounters {
    private final Map<LookupCounter, LongAdder> adders = new EnumMap<>(LookupCounter.class);

    /** Creates counters that are 0. */
    public LookupCounters() {
        for (LookupCounter counter : LookupCounter.values()) {
            adders.put(counter, new LongAdder());
        }
    }

    /** Counts one event. */
    public void increment(LookupCounter counter) {
        add(counter, 1);
    }

    /** Counts {@code amount} events or, if the counter is a time, nanoseconds. */
    public void add(LookupCounter counter, long amount) {
        adder(counter).add(amount);
    }

    /** Returns the counted events or nanoseconds. */
    public long sum(LookupCounter counter) {
        return adder(counter).sum();
    }

    /** Returns the current values, in events or nanoseconds. */
    public Map<LookupCounter, Long> snapshot() {
        Map<LookupCounter, Long> values = new EnumMap<>(LookupCounter.class);
        adders.forEach((counter, adder) -> values.put(counter, adder.sum()));
        return values;
    }

    private LongAdder adder(LookupCounter counter) {
        return Objects.requireNonNull(adders.get(counter));
    }
}
