package dev.granary.s3;

import dev.granary.s3.store.Failure;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.Marks;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.WriteResult;
import io.github.resilience4j.core.IntervalFunction;
import io.github.resilience4j.retry.Retry;
import io.github.resilience4j.retry.RetryConfig;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * A transport with the layers around it that keep a bad bucket from hurting: for reads, from inside to outside, the transport's own request
 * deadline, a bulkhead, a circuit breaker, and at most two retries; for writes the same without retries, which are {@link Publisher}'s.
 *
 * <p>The bulkhead is as large as the connection pool, so that nobody ever waits for the pool itself; callers queue at it for as long as a
 * look-up has beyond one request. Answers count as well-being, whatever they say: 404, 409, 412 and refusals too.
 */
final class ResilientStore implements ObjectStore {
    private static final int MAX_ATTEMPTS = 3;
    private static final Duration FIRST_PAUSE = Duration.ofMillis(50);

    private final LazyTransport transport;
    private final Lazily<Guard> guard;
    private final RequestCounters counters;
    private final Lazily<Retry> retries;
    private final Timing timing;
    private final long deadlineNanos;
    private final long requestNanos;

    ResilientStore(Supplier<ObjectStore> opener, S3Config config, Timing timing, RequestCounters counters) {
        this.transport = new LazyTransport(opener);
        this.guard = new Lazily<>(() -> new Guard(config, timing));
        this.counters = counters;
        this.timing = timing;
        this.deadlineNanos = config.loadDeadline().toNanos();
        this.requestNanos = config.connection().requestTimeout().toNanos();
        this.retries = new Lazily<>(() -> Retry.of(config.location().toString(), RetryConfig.<Optional<Failure>>custom()
                .maxAttempts(MAX_ATTEMPTS)
                .retryOnResult(failure -> failure.filter(Failure::isTransient).isPresent())
                .intervalFunction(IntervalFunction.ofExponentialRandomBackoff(FIRST_PAUSE, 2, 0.5))
                .build()));
    }

    /** The state of the circuit breaker. */
    BucketStatistics.Breaker breaker() {
        Guard used = guard.peek();
        return used == null ? BucketStatistics.Breaker.CLOSED : used.state();
    }

    /** A view whose reads all end within one load deadline from now: for what one caller waits for. */
    ObjectStore withinDeadline() {
        return new OneDeadline(this, timing.nanos());
    }

    @Override
    public GetResult get(String key, long limit) {
        return get(key, limit, timing.nanos());
    }

    GetResult get(String key, long limit, long start) {
        return read(start, counters.get, store -> store.get(key, limit), ResilientStore::failure, GetResult.Unavailable::new);
    }

    @Override
    public GetResult range(String key, long offset, int length, byte[] into) {
        return range(key, offset, length, into, timing.nanos());
    }

    GetResult range(String key, long offset, int length, byte[] into, long start) {
        return read(start, counters.get, store -> store.range(key, offset, length, into), ResilientStore::failure, GetResult.Unavailable::new);
    }

    @Override
    public HeadResult head(String key) {
        return head(key, timing.nanos());
    }

    HeadResult head(String key, long start) {
        return read(start, counters.head, store -> store.head(key), ResilientStore::failure, HeadResult.Unavailable::new);
    }

    @Override
    public WriteResult putIfAbsent(String key, byte[] body, Marks marks) {
        return once(counters.put, store -> store.putIfAbsent(key, body, marks), ResilientStore::failure, WriteResult::failed);
    }

    @Override
    public WriteResult replaceIfMatch(String key, String etag, byte[] body, Marks marks) {
        return once(counters.put, store -> store.replaceIfMatch(key, etag, body, marks), ResilientStore::failure, WriteResult::failed);
    }

    @Override
    public WriteResult deleteIfMatch(String key, String etag) {
        return once(counters.delete, store -> store.deleteIfMatch(key, etag), ResilientStore::failure, WriteResult::failed);
    }

    @Override
    public WriteResult delete(String key) {
        return once(counters.delete, store -> store.delete(key), ResilientStore::failure, WriteResult::failed);
    }

    /** Not retried, and not timed by the circuit breaker: it may have many pages, and some were handed over before it failed. */
    @Override
    public ListResult list(String prefix, Consumer<Listed> visitor) {
        return transport.call(store -> {
            counters.list.increment();
            return store.list(prefix, visitor);
        }, ListResult.Unavailable::new);
    }

    @Override
    public void close() {
        transport.close();
    }

    /** Reads, at most as long as a look-up may take that began at {@code start}: nothing is sent that could end after it. */
    private <R> R read(long start, LongAdder counter, Function<ObjectStore, R> request, Function<R, Optional<Failure>> failure,
            Function<Failure, R> failed) {
        if (deadlineNanos - (timing.nanos() - start) < requestNanos) {
            counters.unsent.increment();
            return failed.apply(Failure.of(Failure.Kind.TIMEOUT, "the requests before took all the time that a look-up has"));
        }
        Retry.AsyncContext<Optional<Failure>> attempts = retries.get().asyncContext();
        while (true) {
            R result = once(counter, request, failure, failed);
            long pauseMillis = attempts.onResult(failure.apply(result));
            if (pauseMillis < 0 || deadlineNanos - (timing.nanos() - start) - pauseMillis * 1_000_000 < requestNanos) {
                return result;
            }
            try {
                timing.pause(Duration.ofMillis(pauseMillis));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return result;
            }
            counters.retries.increment();
        }
    }

    private <R> R once(LongAdder counter, Function<ObjectStore, R> request, Function<R, Optional<Failure>> failure,
            Function<Failure, R> failed) {
        R result = guard.get().call(() -> transport.call(store -> {
            counter.increment();
            return request.apply(store);
        }, failed), failure, failed);
        if (failure.apply(result).filter(Failure::isUnsent).isPresent()) {
            counters.unsent.increment();
        }
        return result;
    }

    private static Optional<Failure> failure(GetResult result) {
        return switch (result) {
            case GetResult.Unavailable lost -> Optional.of(lost.failure());
            case GetResult.Found _, GetResult.Absent _, GetResult.TooLarge _ -> Optional.empty();
        };
    }

    private static Optional<Failure> failure(HeadResult result) {
        return switch (result) {
            case HeadResult.Unavailable lost -> Optional.of(lost.failure());
            case HeadResult.Found _, HeadResult.Absent _ -> Optional.empty();
        };
    }

    private static Optional<Failure> failure(WriteResult result) {
        return switch (result) {
            case WriteResult.Unknown lost -> Optional.of(lost.failure());
            case WriteResult.NotSent unsent -> Optional.of(unsent.failure());
            case WriteResult.NotAllowed refused -> Optional.of(refused.failure());
            case WriteResult.Done _, WriteResult.PreconditionFailed _, WriteResult.Conflict _ -> Optional.empty();
        };
    }
}
