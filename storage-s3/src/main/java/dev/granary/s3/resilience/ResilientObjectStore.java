package dev.granary.s3.resilience;

import dev.granary.cache.support.Lazy;
import dev.granary.cache.support.Ticker;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.publish.EntryPublisher;
import dev.granary.s3.statistics.BucketTierStatistics;
import dev.granary.s3.store.DeadlineBound;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.TrafficCounter;
import dev.granary.s3.store.WriteResult;
import io.github.resilience4j.retry.Retry;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * A transport with the layers around it that keep a bad bucket from hurting: for reads, from inside to outside, the transport's own request
 * deadline, a bulkhead, a circuit breaker, and a few retries ({@link BucketCircuitBreaker} has the rule); for writes the same without retries, which are {@link EntryPublisher}'s.
 *
 * <p>The bulkhead is as large as the connection pool, so that nobody ever waits for the pool itself; callers queue at it for as long as a
 * look-up has beyond one request. Answers count as well-being, whatever they say: 404, 409, 412 and refusals too.
 */
public final class ResilientObjectStore extends RequestPipelineStore {
    /** A look-up of several requests may end later by this part of its deadline, where a request alone may take all of that. */
    private static final int TOLERANCE = 20;

    private final LazyObjectStore transport;
    private final Lazy<BucketCircuitBreaker> guard;
    private final RequestCounters counters;
    private final Ticker timing;
    private final long deadlineNanos;
    private final long requestNanos;
    private final long roomNanos;

    public ResilientObjectStore(Supplier<ObjectStore> opener, S3Config config, Ticker timing, RequestCounters counters) {
        this(opener, config, timing, counters, new TrafficCounter());
    }

    /** A store whose transport tells {@code traffic} of its bytes. */
    public ResilientObjectStore(Supplier<ObjectStore> opener, S3Config config, Ticker timing, RequestCounters counters, TrafficCounter traffic) {
        super(counters);
        this.transport = new LazyObjectStore(opener);
        this.guard = new Lazy<>(() -> new BucketCircuitBreaker(config, timing, traffic));
        this.counters = counters;
        this.timing = timing;
        this.deadlineNanos = config.loadDeadline().toNanos();
        this.requestNanos = config.connection().requestTimeout().toNanos();
        this.roomNanos = Math.max(deadlineNanos - requestNanos, deadlineNanos / TOLERANCE);
    }

    /** The state of the circuit breaker. */
    public BucketTierStatistics.Breaker breaker() {
        BucketCircuitBreaker used = guard.peek();
        return used == null ? BucketTierStatistics.Breaker.CLOSED : used.state();
    }

    /** A view whose reads all end within one load deadline from now: for what one caller waits for. */
    public ObjectStore withinDeadline() {
        return new WithinDeadline(timing.nanos());
    }

    /** The same store for trials: counted, queued at the bulkhead, neither retried nor held against the bucket nor kept back by its sickness. */
    public ObjectStore forTrials() {
        return new TrialStore();
    }

    /**
     * Not retried, and no verdict for the circuit breaker: it may have many pages, and some were handed over before it failed. What it fails of counts
     * as the bucket's silence all the same, and nothing is sent while the breaker is open.
     */
    @Override
    public ListResult list(String prefix, Consumer<Listed> visitor) {
        return guard.get().callListing(() -> transport.call(store -> {
            counters.list.increment();
            return store.list(prefix, visitor);
        }, ListResult.Unavailable::new));
    }

    @Override
    public void close() {
        transport.close();
    }

    @Override
    <R> R read(LongAdder counter, Function<ObjectStore, R> request, Function<R, Optional<StoreFailure>> failure,
            Function<StoreFailure, R> failed) {
        return read(timing.nanos(), "", counter, request, failure, failed);
    }

    /**
     * Reads, at most as long as a look-up may take that began at {@code start}: nothing is sent that could end after it. {@code before} is what took the
     * time until now, where that has failed.
     */
    private <R> R read(long start, String before, LongAdder counter, Function<ObjectStore, R> request, Function<R, Optional<StoreFailure>> failure,
            Function<StoreFailure, R> failed) {
        if (timing.nanos() - start > roomNanos) {
            counters.unsent.increment();
            return failed.apply(StoreFailure.of(StoreFailure.Kind.TIMEOUT, "the requests before took all the time that a look-up has" + before));
        }
        Attempts attempts = new Attempts(start);
        while (true) {
            R result = once(roomNanos - (timing.nanos() - start), counter, request, failure, attempts::isLast, failed);
            if (attempts.isOver() || !attempts.pause()) {
                return result;
            }
            counters.retries.increment();
        }
    }

    /** The attempts at one read, of which all but the last are followed by a pause. For one thread. */
    private final class Attempts {
        private static final long OVER = -1;

        /** Only a server that answers, and asks to come back, is worth more attempts: each other one may take as long as a stall. */
        private static final int MOST_UNLESS_ASKED = 3;

        private int sent;

        private final Retry.AsyncContext<Optional<StoreFailure>> context = guard.get().attempts();
        private final long start;
        private long pauseMillis = OVER;

        Attempts(long start) {
            this.start = start;
        }

        /** True where a request that ended like that is not sent again; asked once for each that was sent. */
        boolean isLast(Optional<StoreFailure> failure) {
            long pause = ++sent >= MOST_UNLESS_ASKED && failure.filter(Attempts::isSaid).isEmpty() ? OVER : context.onResult(failure);
            boolean hasTime = deadlineNanos - (timing.nanos() - start) - pause * 1_000_000 >= requestNanos;
            pauseMillis = pause < 0 || !hasTime ? OVER : pause;
            return isOver();
        }

        private static boolean isSaid(StoreFailure failure) {
            return failure.kind() == StoreFailure.Kind.THROTTLED || failure.kind() == StoreFailure.Kind.SERVER;
        }

        boolean isOver() {
            return pauseMillis == OVER;
        }

        /** Waits before the next attempt; false where this thread was interrupted. */
        boolean pause() {
            try {
                timing.pause(Duration.ofMillis(pauseMillis));
                pauseMillis = OVER; // for an attempt that is not even sent
                return true;
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return false;
            }
        }
    }

    @Override
    WriteResult write(LongAdder counter, Function<ObjectStore, WriteResult> request,
            Function<WriteResult, Optional<StoreFailure>> failure, Function<StoreFailure, WriteResult> failed) {
        return once(guard.get().patienceNanos(), counter, request, failure, _ -> true, failed);
    }

    private <R> R once(long waitNanos, LongAdder counter, Function<ObjectStore, R> request, Function<R, Optional<StoreFailure>> failure,
            Predicate<Optional<StoreFailure>> isLast, Function<StoreFailure, R> failed) {
        R result = guard.get().call(waitNanos, () -> counted(counter, request, failed), failure, isLast, failed);
        if (failure.apply(result).filter(StoreFailure::isUnsent).isPresent()) {
            counters.unsent.increment();
        }
        return result;
    }

    private <R> R counted(LongAdder counter, Function<ObjectStore, R> request, Function<StoreFailure, R> failed) {
        return transport.call(store -> {
            counter.increment();
            return request.apply(store);
        }, failed);
    }

    /** What several requests of one look-up share. */
    private final class WithinDeadline extends RequestPipelineStore implements DeadlineBound {
        private final long start;
        private volatile String before = "";

        WithinDeadline(long start) {
            super(counters);
            this.start = start;
        }

        @Override
        public long roomNanos() {
            return Math.max(0, roomNanos - (timing.nanos() - start));
        }

        @Override
        <R> R read(LongAdder counter, Function<ObjectStore, R> request, Function<R, Optional<StoreFailure>> failure,
                Function<StoreFailure, R> failed) {
            boolean isSent = roomNanos() > 0;
            R result = ResilientObjectStore.this.read(start, before, counter, request, failure, failed);
            if (isSent && before.isEmpty()) { // the first failure is the cause of those behind it
                failure.apply(result).ifPresent(cause -> before = ": " + cause);
            }
            return result;
        }

        @Override
        WriteResult write(LongAdder counter, Function<ObjectStore, WriteResult> request,
                Function<WriteResult, Optional<StoreFailure>> failure, Function<StoreFailure, WriteResult> failed) {
            return ResilientObjectStore.this.write(counter, request, failure, failed);
        }

        @Override
        public ListResult list(String prefix, Consumer<Listed> visitor) {
            return ResilientObjectStore.this.list(prefix, visitor);
        }

        @Override
        public void close() {
            // the store around it closes the transport
        }
    }

    /** Trials provoke what looks like sickness: 500 and 503 are some servers' way to lose a race. */
    private final class TrialStore extends RequestPipelineStore {
        TrialStore() {
            super(counters);
        }

        @Override
        <R> R read(LongAdder counter, Function<ObjectStore, R> request, Function<R, Optional<StoreFailure>> failure,
                Function<StoreFailure, R> failed) {
            return guard.get().callUnjudged(() -> counted(counter, request, failed), failed);
        }

        @Override
        WriteResult write(LongAdder counter, Function<ObjectStore, WriteResult> request,
                Function<WriteResult, Optional<StoreFailure>> failure, Function<StoreFailure, WriteResult> failed) {
            return read(counter, request, failure, failed);
        }

        @Override
        public ListResult list(String prefix, Consumer<Listed> visitor) {
            return ResilientObjectStore.this.list(prefix, visitor);
        }

        @Override
        public void close() {
            // the store around it closes the transport
        }
    }
}
