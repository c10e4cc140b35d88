package dev.granary.s3.statistics;

import dev.granary.s3.probe.ConditionalWriteSupport;

import java.util.Optional;

/**
 * Counters and state of a bucket tier at one moment. Callers count the results of lookups, with
 * {@code TierStatistics}.
 *
 * @param requests requests sent, by kind
 * @param retries reads that were retried after a failure; included in {@code requests}
 * @param unsent calls that sent nothing: the circuit breaker was open, or too many requests were
 *     waiting
 * @param breaker the state of the circuit breaker
 * @param breakerOpenings how often the circuit breaker opened
 * @param refreshes existing entries that were rewritten because of their age
 * @param conditionalWrites the conditional writes that the server supports; empty while they are
 *     unknown
 */
public record BucketTierStatistics(
        Requests requests,
        long retries,
        long unsent,
        Breaker breaker,
        long breakerOpenings,
        Refreshes refreshes,
        Optional<ConditionalWriteSupport> conditionalWrites) {
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
    }

    /**
     * Rewrites of old entries.
     *
     * @param done successful ones
     * @param failed failed ones; the entry is still there, and old
     */
    public record Refreshes(long done, long failed) {}

    /** The state of the circuit breaker. */
    public enum Breaker {
        /** Requests are sent. */
        CLOSED,
        /**
         * The bucket failed or was slow too often; for a while, every lookup is an immediate miss.
         */
        OPEN,
        /** A few requests test whether the bucket has recovered. */
        HALF_OPEN
    }
}
