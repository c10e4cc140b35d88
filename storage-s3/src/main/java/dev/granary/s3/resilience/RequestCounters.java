package dev.granary.s3.resilience;

import dev.granary.s3.statistics.BucketTierStatistics;

import java.util.concurrent.atomic.LongAdder;

/** Counters of the requests to one bucket that were sent, by kind. Thread-safe. */
final class RequestCounters {
    final LongAdder get = new LongAdder();
    final LongAdder head = new LongAdder();
    final LongAdder put = new LongAdder();
    final LongAdder delete = new LongAdder();
    final LongAdder list = new LongAdder();

    BucketTierStatistics.Requests snapshot() {
        return new BucketTierStatistics.Requests(
                get.sum(), head.sum(), put.sum(), delete.sum(), list.sum());
    }
}
