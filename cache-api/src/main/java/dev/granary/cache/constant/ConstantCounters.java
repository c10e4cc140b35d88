package dev.granary.cache.constant;

import java.util.concurrent.atomic.LongAdder;

/** The counters of one cache of constant tensors. Thread-safe. */
final class ConstantCounters {
    final LongAdder reused = new LongAdder();
    final LongAdder waited = new LongAdder();
    final LongAdder failed = new LongAdder();
    private final LongAdder made = new LongAdder();
    private final LongAdder notKept = new LongAdder();

    /** Counts a computed tensor. */
    void made(boolean isCached) {
        made.increment();
        notKept.add(isCached ? 0 : 1);
    }

    /** Returns the counters with the content of {@code ledger}. Requires the lock of the ledger. */
    ConstantStatistics snapshot(ConstantLedger ledger) {
        return new ConstantStatistics(
                made.sum(),
                reused.sum(),
                waited.sum(),
                notKept.sum(),
                ledger.evicted(),
                failed.sum(),
                ledger.tensors(),
                ledger.cachedBytes(),
                ledger.promisedBytes());
    }
}
