package dev.granary.s3.resilience;

import dev.granary.cache.Deadline;
import dev.granary.cache.support.Lazy;
import dev.granary.cache.support.Ticker;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.publish.EntryPublisher;
import dev.granary.s3.statistics.BucketTierStatistics;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.TrafficCounter;
import dev.granary.s3.store.WriteResult;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * A transport with the layers that contain the failures of a bucket.
 *
 * <p>For reads these are, from inside to outside: the transport's request deadline, a bulkhead, a
 * circuit breaker ({@link BucketCircuitBreaker}), and a few retries ({@link ReadAttempts}). Writes
 * have no retries here; {@link EntryPublisher} has its own.
 *
 * <p>The bulkhead is as large as the connection pool, so that no request waits for the pool itself.
 * Callers queue for at most the difference of load deadline and request timeout. Every response
 * except 408, 429 and 5xx counts as success, including 404, 409, 412 and refusals.
 */
public final class ResilientObjectStore extends RequestPipelineStore {
    /**
     * A lookup of several requests may exceed its deadline by 1/20 of it, if one request alone may
     * take all of it.
     */
    private static final int TOLERANCE_DIVISOR = 20;

    private final S3Config config;
    private final Lazy<ObjectStore> transport;
    private final Lazy<BucketCircuitBreaker> breaker;
    private final LongAdder retries = new LongAdder();
    private final TrafficCounter traffic = new TrafficCounter();
    private final Ticker ticker;
    private final long sendWindowNanos;
    private volatile boolean isClosed;

    /**
     * Creates a store.
     *
     * @param opener opens the transport, which counts what it receives, at its first use: loading a
     *     client library takes most of 1 s. A failure is the result of that use; the next use
     *     retries
     */
    public ResilientObjectStore(
            Function<TrafficCounter, ObjectStore> opener, S3Config config, Ticker ticker) {
        super(new RequestCounters());
        this.config = config;
        this.transport = new Lazy<>(() -> opener.apply(traffic));
        this.breaker = new Lazy<>(() -> new BucketCircuitBreaker(config, ticker, traffic));
        this.ticker = ticker;
        long deadlineNanos = config.loadDeadline().toNanos();
        long requestNanos = config.connection().requestTimeout().toNanos();
        this.sendWindowNanos =
                Math.max(deadlineNanos - requestNanos, deadlineNanos / TOLERANCE_DIVISOR);
    }

    /** Returns the counters, and the state of the circuit breaker. */
    public BucketTierStatistics statistics() {
        BucketCircuitBreaker opened = breaker.peek();
        return new BucketTierStatistics(
                counters.snapshot(),
                retries.sum(),
                opened == null ? BucketTierStatistics.Breaker.CLOSED : opened.state(),
                opened == null ? 0 : opened.openings());
    }

    /** Returns the counter of what the bucket sends. */
    public TrafficCounter traffic() {
        return traffic;
    }

    /** Returns a view whose reads all end within one load deadline from now, for one lookup. */
    public ObjectStore withinDeadline() {
        return within(window());
    }

    /**
     * Returns a view for one lookup, whose caller waits until {@code deadline}. A request may begin
     * before it, and ends by its own limits.
     */
    public ObjectStore within(Deadline deadline) {
        return new WithinDeadline(deadline);
    }

    /** Returns the time from now in which the requests of one read may begin. */
    private Deadline window() {
        return Deadline.after(Duration.ofNanos(sendWindowNanos), ticker::nanos);
    }

    /**
     * Returns the same store for probes: requests are counted and queued, but not retried, and
     * bypass the breaker.
     */
    public ObjectStore forProbe() {
        return new ProbeStore();
    }

    /**
     * {@inheritDoc}
     *
     * <p>A listing is not retried, since objects may already have been passed on. Nothing is sent
     * while the breaker is open, and of the failures only silence counts.
     */
    @Override
    public ListResult list(String prefix, Consumer<Listed> visitor) {
        BucketRequest<ListResult> request = new BucketRequest<>(
                counters.list,
                store -> store.list(prefix, visitor),
                result -> result instanceof ListResult.Unavailable lost
                        ? Optional.of(lost.failure())
                        : Optional.empty(),
                ListResult.Unavailable::new);
        return breaker.get().callListing(request, () -> send(request));
    }

    /**
     * Creates the transport, and does what its first request would wait for.
     *
     * @return the reason why no request can be sent; empty if one can
     */
    public Optional<String> open() {
        try {
            transport.get().prepare();
            return Optional.empty();
        } catch (RuntimeException e) { // any problem of a client library with its environment
            return Optional.of(String.valueOf(e.getMessage()));
        } finally {
            if (isClosed) {
                close();
            }
        }
    }

    /** Closes the transport, or prevents its use. */
    @Override
    public void close() {
        isClosed = true;
        ObjectStore opened = transport.peek();
        if (opened != null) {
            opened.close();
        }
    }

    /** Sends a request once. */
    private <R> R send(BucketRequest<R> request) {
        ObjectStore store;
        try {
            if (isClosed) {
                throw new IllegalStateException("closed");
            }
            store = transport.get();
            if (isClosed) { // while it was created, so that close() did not see it
                store.close();
                throw new IllegalStateException("closed");
            }
        } catch (RuntimeException e) { // any problem of a client library with its environment
            return request.failed()
                    .apply(StoreFailure.of(
                            StoreFailure.Kind.CONFIGURATION, String.valueOf(e.getMessage())));
        }
        request.counter().increment();
        traffic.begin();
        try {
            R result = request.operation().apply(store);
            if (request.failure()
                    .apply(result)
                    .filter(StoreFailure::isWithoutResponse)
                    .isEmpty()) {
                traffic.received(1);
            }
            return result;
        } finally {
            traffic.end();
        }
    }

    @Override
    <R> R read(BucketRequest<R> request) {
        return read(window(), "", request);
    }

    /**
     * Reads for a caller that waits until {@code deadline}: sends nothing after it.
     *
     * @param earlierFailure the failure that took the time so far, for messages; may be empty
     */
    private <R> R read(Deadline deadline, String earlierFailure, BucketRequest<R> request) {
        if (deadline.isOver()) {
            return request.failed()
                    .apply(StoreFailure.of(
                            StoreFailure.Kind.TIMEOUT,
                            earlierFailure.isEmpty()
                                    ? "the lookup had no time left for a request"
                                    : "earlier requests took all the time of the lookup"
                                            + earlierFailure));
        }
        ReadAttempts attempts = new ReadAttempts(config, ticker, deadline);
        while (true) {
            R result = breaker.get()
                    .call(deadline.left(), request, () -> send(request), attempts::isFinal, true);
            if (attempts.hasEnded() || !attempts.pause()) {
                return result;
            }
            retries.increment();
        }
    }

    @Override
    WriteResult write(BucketRequest<WriteResult> request) {
        return breaker.get()
                .call(
                        breaker.get().connectionWaitNanos(),
                        request,
                        () -> send(request),
                        _ -> true,
                        false);
    }

    /** A view for several requests of one lookup. */
    private final class WithinDeadline extends RequestPipelineStore {
        private final Deadline deadline;
        private volatile String earlierFailure = "";

        WithinDeadline(Deadline deadline) {
            super(ResilientObjectStore.this.counters);
            this.deadline = deadline;
        }

        @Override
        public long remainingNanos() {
            return deadline.left();
        }

        @Override
        <R> R read(BucketRequest<R> request) {
            boolean isSent = remainingNanos() > 0;
            R result = ResilientObjectStore.this.read(deadline, earlierFailure, request);
            // the first failure is the cause of the later ones
            if (isSent && earlierFailure.isEmpty()) {
                request.failure().apply(result).ifPresent(cause -> earlierFailure = ": " + cause);
            }
            return result;
        }

        @Override
        WriteResult write(BucketRequest<WriteResult> request) {
            return ResilientObjectStore.this.write(request);
        }

        @Override
        public ListResult list(String prefix, Consumer<Listed> visitor) {
            return ResilientObjectStore.this.list(prefix, visitor);
        }

        @Override
        public void close() {
            // the outer store closes the transport
        }
    }

    /**
     * A view for probes: they provoke apparent failures, since some servers report a lost race as
     * 500 or 503.
     */
    private final class ProbeStore extends RequestPipelineStore {
        ProbeStore() {
            super(ResilientObjectStore.this.counters);
        }

        @Override
        <R> R read(BucketRequest<R> request) {
            return breaker.get().callUnrecorded(request, () -> send(request));
        }

        @Override
        WriteResult write(BucketRequest<WriteResult> request) {
            return read(request);
        }

        @Override
        public ListResult list(String prefix, Consumer<Listed> visitor) {
            return ResilientObjectStore.this.list(prefix, visitor);
        }

        @Override
        public void close() {
            // the outer store closes the transport
        }
    }
}
