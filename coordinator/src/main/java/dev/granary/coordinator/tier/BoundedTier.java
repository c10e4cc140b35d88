package dev.granary.coordinator.tier;

import dev.granary.cache.Deadline;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.cache.support.DaemonThreads;
import dev.granary.cache.support.Warnings;
import dev.granary.coordinator.toml.SafeText;
import dev.granary.s3.BucketTier;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.regex.Pattern;

/**
 * A tier whose callers wait for a limited time. A load runs on a thread of this tier, so that its
 * caller can go on without the answer, at its deadline or when the {@link TimeBudget} is used up. A
 * load without an answer is repeated after a quarter of its wait: one request that hangs is no slow
 * tier. A tier that hangs does not affect the others.
 */
public final class BoundedTier extends CacheTier {
    /** The result of a load that the time budget did not allow. */
    static final LoadResult.Unavailable SKIPPED =
            new LoadResult.Unavailable("skipped: the time budget is used up");

    /** The limit of a bucket tier for concurrent requests: more would queue there. */
    private static final int MAX_CONCURRENT = 64;

    private static final Duration IDLE_TIME = Duration.ofSeconds(10);
    private static final Logger LOG = LoggerFactory.getLogger(BoundedTier.class);

    /** The parts of a cause that differ between two of one kind: ids, times, ports. */
    private static final Pattern VARYING = Pattern.compile("[0-9a-f]{8,}|[0-9]+");

    private final TimeBudget budget;
    private final Optional<Duration> storeLimit;
    private final Optional<LayerStart> start;
    private final ExecutorService threads =
            DaemonThreads.pool("granary-lookup", MAX_CONCURRENT, IDLE_TIME);
    private final LongAdder lostNanos = new LongAdder(); // by loads without an answer
    private volatile boolean isTold;
    private volatile @Nullable String failure;
    private volatile @Nullable CompletableFuture<?> overdueStore;

    /**
     * Creates a tier. The start of the client of a bucket begins; a load waits for it without a
     * charge.
     *
     * @param storeLimit the limit of a store or a discard, of which a caller that left knows no
     *     result; empty if they have limits of their own, and run on the thread of the caller
     */
    BoundedTier(
            String name,
            PersistentCache cache,
            boolean isWritable,
            TimeBudget budget,
            Optional<Duration> storeLimit) {
        super(name, cache, isWritable);
        this.budget = budget;
        this.storeLimit = storeLimit;
        this.start = cache instanceof BucketTier bucket
                ? Optional.of(new LayerStart(bucket::prepare, budget.left(), System::nanoTime))
                : Optional.empty();
    }

    @Override
    LoadResult load(List<Id> ids, Deadline deadline) {
        OptionalLong limit = budget.limit();
        if (limit.isEmpty()) {
            if (budget.beginProbe()) {
                probe(ids.getFirst());
            }
            return SKIPPED;
        }
        long beginning = System.nanoTime();
        Optional<String> obstacle = start.flatMap(each -> each.lookupObstacle(deadline));
        if (obstacle.isPresent()) {
            return told(new LoadResult.Unavailable(obstacle.get()), System.nanoTime() - beginning);
        }
        long sent = System.nanoTime();
        // the caller has waited for the start
        Deadline bounded = deadline.within(
                Math.max(limit.getAsLong() / 2, limit.getAsLong() - (sent - beginning)));
        LoadResult result =
                call(() -> loadNow(ids, bounded), bounded, 2, true, LoadResult.Unavailable::new);
        // a layer that answers is not charged for its start
        long nanos =
                System.nanoTime() - (result instanceof LoadResult.Unavailable ? beginning : sent);
        budget.charge(nanos);
        return told(result, nanos);
    }

    /** Logs that this tier does not work, once an hour for each kind of cause, or works again. */
    private LoadResult told(LoadResult result, long nanos) {
        if (threads.isShutdown() || Thread.currentThread().isInterrupted()) {
            return result; // of this process, not of the layer
        }
        if (result instanceof LoadResult.Unavailable(String cause)) {
            failure = cause;
            lostNanos.add(nanos);
            isTold = true;
            Warnings.warn(
                    LOG,
                    name() + VARYING.matcher(cause).replaceAll("#"),
                    name() + " does not work: " + cause.replaceFirst("\\.$", "")
                            + ". Lookups have lost "
                            + TimeUnit.NANOSECONDS.toMillis(lostNanos.sum())
                            + " ms; kernels that are nowhere else are compiled. granary doctor"
                            + " examines the bucket.");
        } else if (isTold) {
            isTold = false;
            LOG.info("{} works again.", name());
        }
        return result;
    }

    /** Loads on a thread of this tier. The answer counts even if it is late. */
    private LoadResult loadNow(List<Id> ids, Deadline deadline) {
        LoadResult result = super.load(ids, deadline);
        failure = result instanceof LoadResult.Unavailable(String cause) ? cause : null;
        return result;
    }

    /** Loads to open the first connection. What that finds is left to the lookups. */
    void connect(Id unknown) {
        Deadline deadline = Deadline.after(Tiers.LAYER_WAIT);
        LoadResult ignored = call(
                () -> super.load(List.of(unknown), deadline),
                deadline,
                1,
                true,
                LoadResult.Unavailable::new);
    }

    /** Loads in the background to find out whether the lookup would have saved time. */
    private void probe(Id id) {
        try {
            threads.execute(() -> budget.endProbe(savedNanos(id)));
        } catch (Throwable e) { // closed, or no thread
            budget.endProbe(0);
        }
    }

    private long savedNanos(Id id) {
        long start = System.nanoTime();
        try {
            return loadNow(List.of(id), Deadline.after(Tiers.LAYER_WAIT))
                            instanceof LoadResult.Hit(Entry entry)
                    ? CompileTimes.stated(entry) - (System.nanoTime() - start)
                    : 0;
        } catch (Throwable e) { // uncaught, it would be printed to the user
            failed(e);
            return 0;
        }
    }

    /**
     * Stores an entry. While a store is overdue, further ones fail at once: each would hold a
     * thread.
     */
    @Override
    StoreResult store(Entry entry) {
        Optional<String> obstacle = obstacle(Deadline.NONE);
        if (obstacle.isPresent()) {
            return new StoreResult.Failed(obstacle.get());
        }
        if (storeLimit.isEmpty()) {
            return super.store(entry);
        }
        CompletableFuture<?> overdue = overdueStore;
        if (overdue != null && !overdue.isDone()) {
            return new StoreResult.Failed("skipped: an earlier store has not returned");
        }
        return call(
                () -> super.store(entry),
                Deadline.after(storeLimit.get()),
                1,
                false,
                StoreResult.Unknown::new);
    }

    @Override
    void discard(Entry entry) {
        if (storeLimit.isEmpty()) {
            super.discard(entry);
        } else { // a lookup waits for it
            ask(
                    () -> {
                        super.discard(entry);
                        return entry;
                    },
                    _ -> entry);
        }
    }

    /**
     * Asks the layer a question other than a lookup. Only one without an answer is charged.
     *
     * @param failed returns the result of a question without an answer, from the cause
     */
    public <R> R ask(Callable<R> question, Function<String, R> failed) {
        OptionalLong limit = budget.limit();
        if (limit.isEmpty()) {
            return failed.apply(SKIPPED.cause());
        }
        long start = System.nanoTime();
        return call(question, Deadline.NONE.within(limit.getAsLong()), 1, true, cause -> {
            budget.charge(System.nanoTime() - start);
            return failed.apply(cause);
        });
    }

    /** Returns the reason why a bucket cannot be used now, after a wait for its start. */
    public Optional<String> obstacle(Deadline deadline) {
        return start.flatMap(each -> each.obstacle(deadline));
    }

    @Override
    void used(Entry entry) {
        budget.credit(CompileTimes.stated(entry));
    }

    /**
     * Returns the cause of the last failure in one line, such as a load without an answer in time;
     * empty after the next answer.
     */
    public Optional<String> failure() {
        return Optional.ofNullable(failure);
    }

    /** Closes the tier, and starts no further loads; those under way end by themselves. */
    @Override
    public void close() {
        threads.shutdown();
        super.close();
    }

    /**
     * Calls {@code action} on a thread of this tier, and again on other ones, each time after a
     * quarter of the wait. The first answer counts.
     *
     * @param calls the largest number of calls
     * @param isLoad false for a store, whose wait an interrupt does not end
     * @param lost returns the result of a call that has not returned one, from the cause
     */
    private <R> R call(
            Callable<R> action,
            Deadline deadline,
            int calls,
            boolean isLoad,
            Function<String, R> lost) {
        long limitNanos = deadline.left();
        CompletableFuture<R> answer = new CompletableFuture<>();
        Runnable call = () -> {
            try {
                if (!answer.isDone()) {
                    answer.complete(action.call());
                }
            } catch (Throwable e) { // a broken contract or an error
                answer.complete(lost.apply(failed(e)));
            }
        };
        int callsLeft = calls;
        boolean isInterrupted = false;
        try {
            threads.execute(call);
            while (true) {
                try {
                    callsLeft--;
                    return answer.get(
                            callsLeft > 0 ? limitNanos / 4 : deadline.left(), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    isInterrupted = true;
                    if (isLoad) {
                        answer.cancel(false);
                        return lost.apply("interrupted");
                    }
                } catch (TimeoutException e) {
                    if (callsLeft > 0) {
                        threads.execute(call);
                        continue;
                    }
                    if (isLoad) {
                        answer.cancel(false); // if it has not begun, it will not
                    } else {
                        overdueStore = answer;
                    }
                    return lost.apply(
                            "no answer within " + Duration.ofNanos(limitNanos).toMillis() + " ms");
                } catch (ExecutionException e) { // it completes with a value only
                    throw new IllegalStateException(e);
                }
            }
        } catch (RejectedExecutionException e) {
            return lost.apply("closed by this process");
        } catch (Throwable e) { // such as out of memory for the thread
            answer.cancel(false); // if it is queued nevertheless, it will not begin
            return lost.apply(failed(e));
        } finally {
            if (isInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Logs and records what a call has thrown, and returns it as a cause. */
    private String failed(Throwable thrown) {
        String cause = SafeText.inOneLine(thrown);
        failure = cause;
        Warnings.warn("layer", "A call of " + name() + " failed: " + cause);
        return cause;
    }
}
