package dev.granary.s3.pack;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * When manifests are read again, and how long a look-up waits for another one that is reading.
 *
 * <p>Each interval is between a half and one and a half times what was asked for, so that the nodes of a fleet that start together do not ask
 * together. Thread-safe where its parts are.
 *
 * @param interval how often a manifest is compared with the bucket's
 * @param patience how long a look-up waits for another one that is reading a manifest or an index
 * @param nanos the monotonic clock
 * @param wallMillis the wall clock, which tells when another process has read; a wrong one costs a request more or less
 * @param random spreads the intervals
 */
record Intervals(Duration interval, Duration patience, LongSupplier nanos, LongSupplier wallMillis, RandomGenerator random) {
    private static final Duration AFTER_FAILURE = Duration.ofSeconds(5);

    /** When to read next, after a manifest was confirmed so long ago, in milliseconds; empty: just now. */
    long nextRefresh(Optional<Long> confirmedAgo) {
        long whole = interval.toNanos() / 2 + random.nextLong(interval.toNanos() + 1);
        long passed = confirmedAgo.map(TimeUnit.MILLISECONDS::toNanos).orElse(0L);
        return nanos.getAsLong() + (passed < 0 ? 0 : Math.max(0, whole - passed));
    }

    /** When to try again after nobody could say. */
    long nextTry() {
        return nanos.getAsLong() + Math.min(interval.toNanos(), AFTER_FAILURE.toNanos());
    }

    /** True where it is time. */
    boolean isDue(long at) {
        return nanos.getAsLong() - at >= 0;
    }
}
