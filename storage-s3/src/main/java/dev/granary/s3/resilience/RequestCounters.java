package dev.granary.s3.resilience;

import dev.granary.s3.statistics.BucketTierStatistics;

import java.util.concurrent.atomic.LongAdder;

/** Counters of sent requests, by kind and some purposes. Thread-safe. */
public final class RequestCounters {
    final LongAdder get = new LongAdder();
    final LongAdder head = new LongAdder();
    final LongAdder put = new LongAdder();
    final LongAdder delete = new LongAdder();
    final LongAdder list = new LongAdder();
    public final LongAdder retries = new LongAdder();
    public final LongAdder unsent = new LongAdder();
    public final LongAdder refreshed = new LongAdder();
    public final LongAdder refreshFailed = new LongAdder();

    public BucketTierStatistics.Refreshes refreshes() {
        return new BucketTierStatistics.Refreshes(refreshed.sum(), refreshFailed.sum());
    }

    public BucketTierStatistics.Requests requests() {
        return new BucketTierStatistics.Requests(
                get.sum(), head.sum(), put.sum(), delete.sum(), list.sum());
    }
}
