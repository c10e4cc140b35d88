package dev.granary.coordinator;

import java.util.concurrent.atomic.LongAdder;

/** What is counted beside the tiers. */
final class Counters {
    final LongAdder compiled = new LongAdder();
    final LongAdder compiledAgain = new LongAdder();
    final LongAdder compileFailures = new LongAdder();
    final LongAdder notCacheable = new LongAdder();
    final LongAdder refusedByDriver = new LongAdder();
    final LongAdder recompiledByDriver = new LongAdder();
    final LongAdder quarantined = new LongAdder();
    final LongAdder withoutBinaries = new LongAdder();
    final LongAdder dropped = new LongAdder();
    final LongAdder leftForLater = new LongAdder();
    final LongAdder adopted = new LongAdder();
    final LongAdder waited = new LongAdder();
    final LongAdder waitsGivenUp = new LongAdder();
    final LongAdder claimsUnavailable = new LongAdder();
    final LongAdder compileNanos = new LongAdder();
    final LongAdder savedNanos = new LongAdder();
}
