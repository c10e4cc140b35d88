package dev.granary.s3;

import java.util.concurrent.atomic.LongAdder;

/** Counts requests as they are sent, and what some of them were for. Thread-safe. */
final class RequestCounters {
    final LongAdder get = new LongAdder();
    final LongAdder head = new LongAdder();
    final LongAdder put = new LongAdder();
    final LongAdder delete = new LongAdder();
    final LongAdder list = new LongAdder();
    final LongAdder retries = new LongAdder();
    final LongAdder unsent = new LongAdder();
    final LongAdder refreshed = new LongAdder();
    final LongAdder refreshFailed = new LongAdder();

    BucketStatistics.Refreshes refreshes() {
        return new BucketStatistics.Refreshes(refreshed.sum(), refreshFailed.sum());
    }

    BucketStatistics.Requests requests() {
        return new BucketStatistics.Requests(get.sum(), head.sum(), put.sum(), delete.sum(), list.sum());
    }
}
