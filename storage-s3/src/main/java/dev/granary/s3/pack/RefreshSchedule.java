package dev.granary.s3.pack;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * Schedule of reading heads again, and the timeout of lookups that wait for a read.
 *
 * <p>Each interval is between 0.5 and 1.5 times the configured one, so that nodes that start
 * together do not send requests together. Thread-safe if its components are.
 *
 * @param interval the time between two comparisons of a head with the bucket's
 * @param timeout the longest time that a lookup waits for another one that reads a head or an index
 * @param nanos the monotonic clock
 * @param wallMillis the wall clock, which dates the reads of other processes; a wrong one costs a
 *     request more or less
 * @param random spreads the intervals
 */
record RefreshSchedule(
        Duration interval,
        Duration timeout,
        LongSupplier nanos,
        LongSupplier wallMillis,
        RandomGenerator random) {
    /** The number of intervals after which a head no longer shows that an id is absent. */
    static final int MAX_AGE = 3;

    private static final Duration AFTER_FAILURE = Duration.ofSeconds(5);

    /**
     * A moment by both clocks. The monotonic clock stops while a machine sleeps; the wall clock may
     * be set.
     *
     * @param isKnown false for an unknown moment in the distant past
     */
    record Moment(long nanos, long wallMillis, boolean isKnown) {
        static final Moment NEVER = new Moment(0, 0, false);
    }

    /** Returns the current moment. */
    Moment now() {
        return new Moment(nanos.getAsLong(), wallMillis.getAsLong(), true);
    }

    /** Returns the moment that many milliseconds ago; unknown if empty or too far in the future. */
    Moment before(Optional<Long> millisAgo) {
        return millisAgo
                .filter(ago -> ago >= -longestMillis())
                .map(ago -> Math.max(0, ago))
                .map(ago -> new Moment(
                        nanos.getAsLong() - TimeUnit.MILLISECONDS.toNanos(ago),
                        wallMillis.getAsLong() - ago,
                        true))
                .orElse(Moment.NEVER);
    }

    /**
     * Returns true if a moment is more than {@value #MAX_AGE} intervals ago by either clock, or
     * unknown.
     */
    boolean isOutOfDate(Moment confirmed) {
        long longest = longestMillis();
        long byWall = wallMillis.getAsLong() - confirmed.wallMillis();
        return !confirmed.isKnown()
                || TimeUnit.NANOSECONDS.toMillis(nanos.getAsLong() - confirmed.nanos()) > longest
                || byWall > longest
                || byWall < -longest;
    }

    /**
     * Returns the time of the next read, in nanoseconds of the monotonic clock.
     *
     * @param headAge the time since the head was confirmed, in milliseconds; empty if it was just
     *     confirmed
     */
    long nextRefresh(Optional<Long> headAge) {
        long whole = interval.toNanos() / 2 + random.nextLong(interval.toNanos() + 1);
        long passed = headAge.map(TimeUnit.MILLISECONDS::toNanos).orElse(0L);
        return nanos.getAsLong() + (passed < 0 ? 0 : Math.max(0, whole - passed));
    }

    private long longestMillis() {
        return interval.toMillis() * MAX_AGE;
    }

    /** Returns the time of the next read after a failed one, by the same clock. */
    long nextTry() {
        return nanos.getAsLong() + Math.min(interval.toNanos(), AFTER_FAILURE.toNanos());
    }

    /** Returns true if that time of the monotonic clock has been reached. */
    boolean isDue(long at) {
        return nanos.getAsLong() - at >= 0;
    }
}
