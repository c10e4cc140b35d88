package dev.granary.coordinator.statistics;

import java.util.concurrent.atomic.LongAdder;

/** Counters of lookups, besides those of the tiers. Thread-safe. */
public final class LookupCounters {
    public final LongAdder compiled = new LongAdder();
    public final LongAdder compiledAgain = new LongAdder();
    public final LongAdder compileFailures = new LongAdder();
    public final LongAdder notCacheable = new LongAdder();
    public final LongAdder refusedByDriver = new LongAdder();
    public final LongAdder recompiledByDriver = new LongAdder();
    public final LongAdder quarantined = new LongAdder();
    public final LongAdder withoutBinaries = new LongAdder();
    public final LongAdder dropped = new LongAdder();
    public final LongAdder leftForLater = new LongAdder();
    public final LongAdder adopted = new LongAdder();
    public final LongAdder waited = new LongAdder();
    public final LongAdder waitsGivenUp = new LongAdder();
    public final LongAdder claimsUnavailable = new LongAdder();
    public final LongAdder compileNanos = new LongAdder();
    public final LongAdder savedNanos = new LongAdder();

    /** Creates counters that are 0. */
    public LookupCounters() {}
}
