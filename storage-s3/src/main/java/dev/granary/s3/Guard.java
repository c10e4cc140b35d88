package dev.granary.s3;

import dev.granary.s3.store.Failure;
import io.github.resilience4j.bulkhead.Bulkhead;
import io.github.resilience4j.bulkhead.BulkheadConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Circuit breaker around bulkhead: lets a request through only where the bucket is well and a connection will be free.
 *
 * <p>The time in the queue does not count as the bucket's: only a request that was sent can be slow.
 */
final class Guard {
    private static final int WINDOW = 20;
    private static final int MINIMUM = 5;
    private static final int TRIALS = 3;
    private static final float THRESHOLD_PERCENT = 50;

    private final CircuitBreaker breaker;
    private final Bulkhead bulkhead;
    private final Timing timing;
    private final String location;

    Guard(S3Config config, Timing timing) {
        this.timing = timing;
        this.location = config.location().toString();
        this.breaker = CircuitBreaker.of(location, CircuitBreakerConfig.custom()
                .slidingWindow(WINDOW, MINIMUM, SlidingWindowType.COUNT_BASED)
                .failureRateThreshold(THRESHOLD_PERCENT)
                .slowCallRateThreshold(THRESHOLD_PERCENT)
                .slowCallDurationThreshold(config.slowCall())
                .waitDurationInOpenState(config.breakerPause())
                .permittedNumberOfCallsInHalfOpenState(TRIALS)
                .maxWaitDurationInHalfOpenState(config.breakerPause())
                .clock(new MonotonicClock(timing))
                .build());
        this.bulkhead = Bulkhead.of(location, BulkheadConfig.custom()
                .maxConcurrentCalls(config.connection().maxConnections())
                .maxWaitDuration(config.loadDeadline().minus(config.connection().requestTimeout()))
                .build());
    }

    <R> R call(Supplier<R> request, Function<R, Optional<Failure>> failure, Function<Failure, R> rejected) {
        if (!breaker.tryAcquirePermission()) {
            return rejected.apply(Failure.of(Failure.Kind.SUSPENDED, location + " failed or dawdled too often and is left alone for a while"));
        }
        if (!bulkhead.tryAcquirePermission()) {
            breaker.releasePermission();
            return rejected.apply(Failure.of(Failure.Kind.BUSY, "too many requests to " + location + " are waiting"));
        }
        boolean recorded = false;
        try {
            long start = timing.nanos();
            R result = request.get();
            record(failure.apply(result), timing.nanos() - start);
            recorded = true;
            return result;
        } finally {
            bulkhead.onComplete();
            if (!recorded) {
                breaker.releasePermission();
            }
        }
    }

    /** A request that waits its turn at the bulkhead and says nothing of the bucket's health, whatever comes of it. */
    <R> R callUnjudged(Supplier<R> request, Function<Failure, R> rejected) {
        if (!bulkhead.tryAcquirePermission()) {
            return rejected.apply(Failure.of(Failure.Kind.BUSY, "too many requests to " + location + " are waiting"));
        }
        try {
            return request.get();
        } finally {
            bulkhead.onComplete();
        }
    }

    BucketStatistics.Breaker state() {
        return switch (breaker.getState()) {
            case CLOSED, DISABLED, METRICS_ONLY -> BucketStatistics.Breaker.CLOSED;
            case OPEN, FORCED_OPEN -> BucketStatistics.Breaker.OPEN;
            case HALF_OPEN -> BucketStatistics.Breaker.HALF_OPEN;
        };
    }

    private void record(Optional<Failure> failure, long nanos) {
        if (failure.filter(Guard::isSickness).isPresent()) {
            breaker.onError(nanos, TimeUnit.NANOSECONDS, new SickBucket(failure.get().toString()));
        } else {
            breaker.onSuccess(nanos, TimeUnit.NANOSECONDS);
        }
    }

    /** A refusal is an answer; a client that cannot be set up would be tried in vain each time. */
    private static boolean isSickness(Failure failure) {
        return failure.isTransient() || failure.kind() == Failure.Kind.CONFIGURATION;
    }

    /** Tells the circuit breaker of a failure; never thrown. */
    private static final class SickBucket extends Exception {
        SickBucket(String message) {
            super(message, null, false, false);
        }
    }

    /** The monotonic clock in the form that the circuit breaker wants. */
    private static final class MonotonicClock extends Clock {
        private final Timing timing;

        MonotonicClock(Timing timing) {
            this.timing = timing;
        }

        @Override
        public ZoneId getZone() {
            return ZoneOffset.UTC;
        }

        @Override
        public Clock withZone(ZoneId zone) {
            return this;
        }

        @Override
        public Instant instant() {
            return Instant.EPOCH.plus(Duration.ofNanos(timing.nanos()));
        }
    }
}
