package dev.granary.s3.resilience;

import dev.granary.cache.support.Ticker;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.statistics.BucketTierStatistics;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.TrafficCounter;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * Circuit breaker around a bulkhead: admits a request if the breaker permits it and a connection is
 * free.
 *
 * <p>The bulkhead is a fair queue with one permit for each connection. A request that leaves the
 * queue while the breaker is open is rejected: thousands may have queued before it opened.
 *
 * <p>The breaker opens if at least half of the last {@value #WINDOW} outcomes, and no fewer than
 * {@value #MINIMUM}, are failures. A slow response is none: what it costs is limited for each
 * lookup and each process. The breaker opens at once if the bucket is silent: two reads ended
 * without a response, and nothing was received for others between them. Five successive requests to
 * a silent bucket would take most of a minute. After a pause it is half-open until
 * {@value #HALF_OPEN_CALLS} requests have ended, without a limit of time: a process with few
 * requests would never make them in time. A read counts as one outcome, that of its last attempt:
 * one unreadable object must not block the others in a process with few requests.
 */
final class BucketCircuitBreaker {
    private static final int WINDOW = 20;
    private static final int MINIMUM = 5;
    private static final int HALF_OPEN_CALLS = 3;
    private static final float THRESHOLD_PERCENT = 50;
    private static final long SILENCE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final CircuitBreaker breaker;
    private final Semaphore bulkhead;
    private final Ticker ticker;
    private final String location;
    private final long connectionWaitNanos;
    private final TrafficCounter traffic;
    private final long pauseSeconds;
    private final LongAdder openings = new LongAdder();
    private final AtomicLong receivedBeforeSilence = new AtomicLong(-1);
    private volatile String lastFailure = "";

    BucketCircuitBreaker(S3Config config, Ticker ticker, TrafficCounter traffic) {
        this.ticker = ticker;
        this.traffic = traffic;
        this.location = config.location().toString();
        this.pauseSeconds = Math.max(1, config.breakerPause().toSeconds());
        this.breaker = CircuitBreaker.of(
                location,
                CircuitBreakerConfig.custom()
                        .slidingWindow(WINDOW, MINIMUM, SlidingWindowType.COUNT_BASED)
                        .failureRateThreshold(THRESHOLD_PERCENT)
                        .slowCallDurationThreshold(Duration.ofNanos(Long.MAX_VALUE)) // never
                        .waitDurationInOpenState(config.breakerPause())
                        .permittedNumberOfCallsInHalfOpenState(HALF_OPEN_CALLS)
                        .clock(new MonotonicClock(ticker))
                        .build());
        breaker.getEventPublisher().onStateTransition(event -> {
            if (event.getStateTransition().getToState() == CircuitBreaker.State.OPEN) {
                openings.increment();
            }
        });
        this.bulkhead = new Semaphore(config.connection().maxConnections(), true);
        this.connectionWaitNanos = config.loadDeadline()
                .minus(config.connection().requestTimeout())
                .toNanos();
    }

    /**
     * Returns the longest wait for a connection of a request that is not part of a lookup, in
     * nanoseconds.
     */
    long connectionWaitNanos() {
        return connectionWaitNanos;
    }

    /**
     * Sends a request if the breaker and the bulkhead admit it.
     *
     * @param waitNanos the longest wait for a connection
     * @param sender sends the request once
     * @param isFinal whether the outcome counts; false if the same request will be retried
     * @param isRead whether the outcome may show silence: a write may take a server long
     */
    <R> R call(
            long waitNanos,
            BucketRequest<R> request,
            Supplier<R> sender,
            Predicate<Optional<StoreFailure>> isFinal,
            boolean isRead) {
        if (!breaker.tryAcquirePermission()) {
            return request.failed().apply(suspended());
        }
        boolean recorded = false;
        try {
            if (!acquirePermit(waitNanos)) {
                return request.failed().apply(busy());
            }
            try {
                // opened while this request was queued
                if (breaker.getState() == CircuitBreaker.State.OPEN) {
                    return request.failed().apply(suspended());
                }
                long start = ticker.nanos();
                R result = sender.get();
                Optional<StoreFailure> failed = request.failure().apply(result);
                // of this thread, not of the bucket
                boolean isLocal = failed.isPresent() && Thread.currentThread().isInterrupted();
                long elapsed = ticker.nanos() - start;
                if (isFinal.test(failed) && !isLocal) {
                    record(failed, elapsed);
                    recorded = true;
                    if (isRead) {
                        openIfSilent(failed, elapsed);
                    }
                }
                return result;
            } finally {
                bulkhead.release();
            }
        } finally {
            if (!recorded) {
                breaker.releasePermission(); // a lost one would keep it half-open for ever
            }
        }
    }

    /**
     * Opens the breaker if two reads ended without a response, and nothing was received for others
     * between them: one may have hung alone. A connection that is refused at once costs too little
     * for that.
     */
    private void openIfSilent(Optional<StoreFailure> failed, long elapsedNanos) {
        boolean isSilent = failed.filter(StoreFailure::isWithoutResponse)
                .filter(one ->
                        one.kind() == StoreFailure.Kind.TIMEOUT || elapsedNanos >= SILENCE_NANOS)
                .isPresent();
        if (!isSilent) {
            return;
        }
        lastFailure = failed.get().toString();
        long received = traffic.received();
        if (receivedBeforeSilence.getAndSet(received) == received) {
            CircuitBreaker.State state = breaker.getState();
            if (state == CircuitBreaker.State.CLOSED || state == CircuitBreaker.State.HALF_OPEN) {
                breaker.transitionToOpenState();
            }
        }
    }

    /** Sends a listing if the breaker is closed or half-open; only silence counts. */
    <R> R callListing(BucketRequest<R> request, Supplier<R> sender) {
        if (!breaker.tryAcquirePermission()) {
            return request.failed().apply(suspended());
        }
        // not one of the requests of the half-open state, which a listing of minutes would delay
        breaker.releasePermission();
        long start = ticker.nanos();
        R result = sender.get();
        if (!Thread.currentThread().isInterrupted()) {
            openIfSilent(request.failure().apply(result), ticker.nanos() - start);
        }
        return result;
    }

    /** Sends a request through the bulkhead only; its outcome does not affect the breaker. */
    <R> R callUnrecorded(BucketRequest<R> request, Supplier<R> sender) {
        if (!acquirePermit(connectionWaitNanos)) {
            return request.failed().apply(busy());
        }
        try {
            return sender.get();
        } finally {
            bulkhead.release();
        }
    }

    private boolean acquirePermit(long waitNanos) {
        try {
            return bulkhead.tryAcquire(Math.max(0, waitNanos), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private StoreFailure suspended() {
        return StoreFailure.of(
                StoreFailure.Kind.SUSPENDED,
                location + " failed; no requests are sent for " + pauseSeconds + " s"
                        + (lastFailure.isEmpty() ? "" : ", after: " + lastFailure));
    }

    private StoreFailure busy() {
        return StoreFailure.of(
                StoreFailure.Kind.BUSY,
                Thread.currentThread().isInterrupted()
                        ? "interrupted while waiting for a connection to " + location
                        : "too many requests to " + location + " are waiting");
    }

    BucketTierStatistics.Breaker state() {
        return switch (breaker.getState()) {
            case CLOSED, DISABLED, METRICS_ONLY -> BucketTierStatistics.Breaker.CLOSED;
            case OPEN, FORCED_OPEN -> BucketTierStatistics.Breaker.OPEN;
            case HALF_OPEN -> BucketTierStatistics.Breaker.HALF_OPEN;
        };
    }

    /** Returns how often the breaker opened. */
    long openings() {
        return openings.sum();
    }

    private void record(Optional<StoreFailure> failure, long nanos) {
        if (failure.filter(BucketCircuitBreaker::isCounted).isPresent()) {
            lastFailure = failure.get().toString();
            breaker.onError(
                    nanos, TimeUnit.NANOSECONDS, new BucketFailure(failure.get().toString()));
        } else {
            breaker.onSuccess(nanos, TimeUnit.NANOSECONDS);
        }
    }

    /**
     * Returns true if the failure counts: a refusal is a response, but an unusable client would
     * fail each time.
     */
    private static boolean isCounted(StoreFailure failure) {
        return failure.isTransient() || failure.kind() == StoreFailure.Kind.CONFIGURATION;
    }

    /** Reports a failure to the circuit breaker; never thrown. */
    private static final class BucketFailure extends Exception {
        BucketFailure(String message) {
            super(message, null, false, false);
        }
    }

    /** The ticker as a clock for the circuit breaker. */
    private static final class MonotonicClock extends Clock {
        private final Ticker ticker;

        MonotonicClock(Ticker ticker) {
            this.ticker = ticker;
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
            return Instant.EPOCH.plus(Duration.ofNanos(ticker.nanos()));
        }
    }
}
