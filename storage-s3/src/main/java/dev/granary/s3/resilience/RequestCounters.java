package dev.granary.s3.resilience;

import dev.granary.s3.statistics.BucketTierStatistics;

import java.util.concurrent.atomic.LongAdder;

/** Counters of the requests to one bucket. Thread-safe. */
public final class RequestCounters {
    // sent requests by kind, retries included
    final LongAdder get = new LongAdder();
    final LongAdder head = new LongAdder();
    final LongAdder put = new LongAdder();
    final LongAdder delete = new LongAdder();
    final LongAdder list = new LongAdder();

    /** Reads that were repeated after a failure. */
    public final LongAdder retries = new LongAdder();

    /** Calls that sent nothing, because of the circuit breaker or too many waiting requests. */
    public final LongAdder unsent = new LongAdder();

    /** Entries that were rewritten because of their age. */
    public final LongAdder refreshed = new LongAdder();

    /** Such entries whose rewriting failed. */
    public final LongAdder refreshFailed = new LongAdder();

    /** Returns the counts of rewritten entries. */
    public BucketTierStatistics.Refreshes refreshes() {
        return new BucketTierStatistics.Refreshes(refreshed.sum(), refreshFailed.sum());
    }

    /** Returns the counts of sent requests. */
    public BucketTierStatistics.Requests requests() {
        return new BucketTierStatistics.Requests(
                get.sum(), head.sum(), put.sum(), delete.sum(), list.sum());
    }
}
