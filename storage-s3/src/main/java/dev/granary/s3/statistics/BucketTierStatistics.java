package dev.granary.s3.statistics;

import dev.granary.s3.probe.ConditionalWriteSupport;
import java.time.Duration;
import java.util.Optional;

/**
 * What a bucket tier has sent and how it is, at a moment. Who calls it counts the results, with {@code TierStatistics}.
 *
 * @param requests requests that were sent, by kind
 * @param retries reads that were sent again after a failure; counted in {@code requests} as well
 * @param unsent calls that sent nothing, because the bucket was left alone or too many were waiting
 * @param breaker whether the bucket is asked at all
 * @param refreshes entries that were there already and old, and were written anew for the retention's sake
 * @param conditionalWrites which conditions on writes the server keeps; empty where nothing was written yet
 * @param readOnlyFor how long nothing will be written since the bucket refused a write; zero where it may be written
 */
public record BucketTierStatistics(
        Requests requests,
        long retries,
        long unsent,
        Breaker breaker,
        Refreshes refreshes,
        Optional<ConditionalWriteSupport> conditionalWrites,
        Duration readOnlyFor) {
    /**
     * Requests by kind.
     *
     * @param get reads, whole or a part
     * @param head questions without the bytes
     * @param put writes
     * @param delete deletions
     * @param list listings, counted once each however many pages
     */
    public record Requests(long get, long head, long put, long delete, long list) {
        /** All of them. */
        public long total() {
            return get + head + put + delete + list;
        }
    }

    /**
     * Old entries that were written anew.
     *
     * @param done those that succeeded
     * @param failed those that did not; the entry is still there, and old
     */
    public record Refreshes(long done, long failed) {}

    /** The state of the circuit breaker. */
    public enum Breaker {
        /** The bucket is asked. */
        CLOSED,
        /** The bucket failed or dawdled too often and is left alone for a while: every look-up is a miss at once. */
        OPEN,
        /** A few requests find out whether the bucket is well again. */
        HALF_OPEN
    }
}
