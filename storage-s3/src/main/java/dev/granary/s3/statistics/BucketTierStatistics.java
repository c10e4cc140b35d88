package dev.granary.s3.statistics;

/**
 * Counters and state of the connections to a bucket at one moment, without the results of lookups.
 *
 * @param requests requests sent, by kind
 * @param retries reads that were retried after a failure; included in {@code requests}
 * @param breaker the state of the circuit breaker
 * @param breakerOpenings how often the circuit breaker opened
 */
public record BucketTierStatistics(
        Requests requests, long retries, Breaker breaker, long breakerOpenings) {
    /** Returns the sums with other connections, and the state of the breaker that rejects more. */
    public BucketTierStatistics plus(BucketTierStatistics other) {
        return new BucketTierStatistics(
                requests.plus(other.requests),
                retries + other.retries,
                breaker.compareTo(other.breaker) >= 0 ? breaker : other.breaker,
                breakerOpenings + other.breakerOpenings);
    }

    /**
     * Requests by kind.
     *
     * @param get reads, whole or a range
     * @param head reads of metadata
     * @param put writes
     * @param delete deletions
     * @param list listings, each counted once for all its pages
     */
    public record Requests(long get, long head, long put, long delete, long list) {
        /** Returns the number of all requests. */
        public long total() {
            return get + head + put + delete + list;
        }

        private Requests plus(Requests other) {
            return new Requests(
                    get + other.get,
                    head + other.head,
                    put + other.put,
                    delete + other.delete,
                    list + other.list);
        }
    }

    /** The state of the circuit breaker, in the order of how much it rejects. */
    public enum Breaker {
        /** Requests are sent. */
        CLOSED,
        /** A few requests test whether the bucket has recovered. */
        HALF_OPEN,
        /** The bucket failed too often; for a while, every lookup is an immediate miss. */
        OPEN
    }
}
