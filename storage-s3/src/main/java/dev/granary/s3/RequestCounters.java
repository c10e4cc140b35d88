package dev.granary.s3;

import java.util.concurrent.atomic.LongAdder;

/** Counts requests as they are sent. Thread-safe. */
final class RequestCounters {
    final LongAdder get = new LongAdder();
    final LongAdder head = new LongAdder();
    final LongAdder put = new LongAdder();
    final LongAdder delete = new LongAdder();
    final LongAdder list = new LongAdder();
    final LongAdder retries = new LongAdder();
    final LongAdder unsent = new LongAdder();

    BucketStatistics.Requests requests() {
        return new BucketStatistics.Requests(get.sum(), head.sum(), put.sum(), delete.sum(), list.sum());
    }
}
