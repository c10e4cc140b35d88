package dev.granary.s3;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.s3.statistics.BucketTierStatistics;

import java.util.Collection;
import java.util.List;

/** Compares the counters of tiers with the received requests. */
final class RequestAccounting {
    private RequestAccounting() {}

    /** Checks O1: the requests that the tiers counted are those that were received. */
    static void compareRequests(Collection<BucketTier> tiers, List<String> operations) {
        BucketTierStatistics.Requests received = new BucketTierStatistics.Requests(
                received(operations, "GET"),
                received(operations, "HEAD"),
                received(operations, "PUT"),
                received(operations, "DELETE"),
                received(operations, "LIST"));
        BucketTierStatistics.Requests sent = tiers.stream()
                .map(tier -> tier.statistics().requests())
                .reduce(
                        new BucketTierStatistics.Requests(0, 0, 0, 0, 0),
                        (a, b) -> new BucketTierStatistics.Requests(
                                a.get() + b.get(),
                                a.head() + b.head(),
                                a.put() + b.put(),
                                a.delete() + b.delete(),
                                a.list() + b.list()));
        assertEquals(received, sent);
    }

    private static long received(List<String> operations, String method) {
        return operations.stream()
                .filter(operation -> operation.startsWith(method))
                .count();
    }
}
