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
 * @param timeout how long a look-up waits for another one that is reading a manifest or an index
 * @param nanos the monotonic clock
 * @param wallMillis the wall clock, which tells when another process has read; a wrong one costs a request more or less
 * @param random spreads the intervals
 */
record RefreshSchedule(Duration interval, Duration timeout, LongSupplier nanos, LongSupplier wallMillis, RandomGenerator random) {
    /** After that many intervals a manifest does not tell any more what is absent. */
    static final int MAX_AGE = 3;

    private static final Duration AFTER_FAILURE = Duration.ofSeconds(5);

    /**
     * A moment by both clocks. The monotonic one stands still while a machine sleeps; the other one may be set.
     *
     * @param isKnown false for a moment of which nothing is known but that it is long ago
     */
    record Moment(long nanos, long wallMillis, boolean isKnown) {
        static final Moment NEVER = new Moment(0, 0, false);
    }

    /** This moment. */
    Moment now() {
        return new Moment(nanos.getAsLong(), wallMillis.getAsLong(), true);
    }

    /** The moment so long ago, in milliseconds; empty or far in the future: nothing is known of it. */
    Moment before(Optional<Long> millisAgo) {
        return millisAgo.filter(ago -> ago >= -longestMillis()).map(ago -> Math.max(0, ago))
                .map(ago -> new Moment(nanos.getAsLong() - TimeUnit.MILLISECONDS.toNanos(ago), wallMillis.getAsLong() - ago, true))
                .orElse(Moment.NEVER);
    }

    /** True if that was more than {@value #MAX_AGE} intervals ago by either clock, or nobody can say. */
    boolean isOutOfDate(Moment confirmed) {
        long longest = longestMillis();
        long byWall = wallMillis.getAsLong() - confirmed.wallMillis();
        return !confirmed.isKnown() || TimeUnit.NANOSECONDS.toMillis(nanos.getAsLong() - confirmed.nanos()) > longest
                || byWall > longest || byWall < -longest;
    }

    /** When to read next, after a manifest was confirmed so long ago, in milliseconds; empty: just now. */
    long nextRefresh(Optional<Long> manifestAge) {
        long whole = interval.toNanos() / 2 + random.nextLong(interval.toNanos() + 1);
        long passed = manifestAge.map(TimeUnit.MILLISECONDS::toNanos).orElse(0L);
        return nanos.getAsLong() + (passed < 0 ? 0 : Math.max(0, whole - passed));
    }

    private long longestMillis() {
        return interval.multipliedBy(MAX_AGE).toMillis();
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
