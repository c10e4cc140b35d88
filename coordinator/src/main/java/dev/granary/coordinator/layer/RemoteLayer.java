package dev.granary.coordinator.layer;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.support.DaemonThreads;
import dev.granary.cache.support.LogOnce;
import dev.granary.coordinator.dispatch.EventSpan;
import dev.granary.coordinator.statistics.LayerStatistics;
import dev.granary.coordinator.stores.OpenLayer;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Stream;

/**
 * One layer as lookups and uploads use it: the tier with its counters, time budget, threads and
 * upload queue. A lookup waits no longer than the {@link LookupTimeBudget} allows. Each load runs
 * on a thread of the layer, so that its caller can go on without the answer. A hanging layer does
 * not affect the others. Thread-safe.
 */
public final class RemoteLayer implements AutoCloseable {
    /** The limit of a bucket tier for concurrent requests: more would queue there. */
    private static final int MAX_CONCURRENT = 64;

    private static final Duration IDLE_TIME = Duration.ofSeconds(10);
    private static final LoadResult.Unavailable SKIPPED =
            new LoadResult.Unavailable("skipped: the time budget is used up");

    private final OpenLayer layer;
    private final int position;
    private final LookupTimeBudget budget;
    private final CompileTimeEstimate compileTimes;
    private final Optional<UploadQueue> uploads;
    private final LongAdder skipped = new LongAdder();
    private final LayerFailure failure = new LayerFailure();
    private final ExecutorService threads =
            DaemonThreads.pool("granary-lookup", MAX_CONCURRENT, IDLE_TIME);

    /**
     * Creates a client of {@code layer}.
     *
     * @param position the position in the order of lookups, counted from 0
     * @param uploads the queue of uploads; empty for a read-only layer
     */
    public RemoteLayer(
            OpenLayer layer,
            int position,
            CompileTimeEstimate compileTimes,
            LookupTimeBudget budget,
            Optional<UploadQueue> uploads) {
        this.layer = layer;
        this.position = position;
        this.budget = budget;
        this.compileTimes = compileTimes;
        this.uploads = uploads;
    }

    /**
     * Loads the entry of the first id that has one, and waits at most {@code maxNanos}. Returns
     * {@link #SKIPPED} if the budget does not allow the lookup. All ids count as one load of the
     * first id, with the result of the hit if there is one.
     *
     * @param ids the ids of the same inputs in one or several namespaces; not empty
     */
    public LoadResult load(List<Id> ids, long maxNanos) {
        return switch (budget.decide()) {
            case LookupTimeBudget.Decision.Load(long limitNanos) ->
                loadAndCount(ids, Math.min(limitNanos, maxNanos));
            case LookupTimeBudget.Decision.Probe _ -> {
                skip(ids.getFirst());
                probe(ids.getFirst());
                yield SKIPPED;
            }
            case LookupTimeBudget.Decision.Skip _ -> {
                skip(ids.getFirst());
                yield SKIPPED;
            }
        };
    }

    /** Returns the position in the order of lookups, counted from 0. */
    public int position() {
        return position;
    }

    /** Returns the name of the layer. */
    public String name() {
        return layer.name();
    }

    /** Returns the queue of uploads; empty for a read-only layer. */
    Optional<UploadQueue> uploads() {
        return uploads;
    }

    /** Records that an entry of this layer was used. */
    public void used(Entry entry) {
        budget.credit(CompileTimeEstimate.stated(entry));
        compileTimes.observe(entry);
    }

    /** Discards an entry of this layer that the driver rejected, unless the layer is read-only. */
    public void refused(Entry entry) {
        if (layer.isWritable()) {
            layer.tier().cache().discard(entry);
        }
    }

    /** Returns a snapshot of the counters. */
    public LayerStatistics statistics() {
        return new LayerStatistics(
                layer.name(),
                layer.tier().statistics().snapshot(),
                skipped.sum(),
                failure.cause(),
                failure.pending(),
                failure.lateAnswers(),
                requests());
    }

    /** Returns the requests of lookups and uploads, over all connections. */
    private Optional<LayerStatistics.Requests> requests() {
        return Stream.of(
                        layer.bucketTier().map(LayerStatistics.Requests::of),
                        uploads.flatMap(UploadQueue::requests))
                .flatMap(Optional::stream)
                .reduce(LayerStatistics.Requests::plus);
    }

    /**
     * Closes the queue of uploads, and starts no further loads; those under way end by themselves.
     */
    @Override
    public void close() {
        uploads.ifPresent(UploadQueue::close);
        threads.shutdown();
    }

    private void skip(Id id) {
        skipped.increment();
        layer.tier().skipped(id, SKIPPED.cause());
    }

    private LoadResult loadAndCount(List<Id> ids, long limitNanos) {
        EventSpan span = layer.tier().beginLoad();
        long start = System.nanoTime();
        LoadResult result = loadWithin(ids, limitNanos);
        long took = System.nanoTime() - start;
        budget.charge(took);
        return layer.tier().count(ids.getFirst(), result, took, span);
    }

    /** Loads the ids in order until one has an entry, or the layer fails. */
    private LoadResult loadFirst(List<Id> ids) {
        LoadResult first = layer.tier().cache().load(ids.getFirst());
        for (Id other : ids.subList(1, ids.size())) {
            if (first instanceof LoadResult.Hit || first instanceof LoadResult.Unavailable) {
                return first;
            }
            LoadResult found = layer.tier().cache().load(other);
            if (found instanceof LoadResult.Hit) {
                return found;
            }
            if (found instanceof LoadResult.Unavailable) {
                return first instanceof LoadResult.Damaged ? first : found;
            }
        }
        return first;
    }

    private LoadResult loadWithin(List<Id> ids, long limitNanos) {
        CompletableFuture<LoadResult> answer = new CompletableFuture<>();
        AtomicBoolean isStarted = new AtomicBoolean();
        try {
            threads.execute(() -> {
                if (isStarted.compareAndSet(false, true)) {
                    try {
                        answer.complete(loadFirst(ids));
                    } catch (Throwable e) { // a broken contract or an error: passed to the caller
                        answer.completeExceptionally(e);
                    }
                }
            });
        } catch (RejectedExecutionException e) {
            return failed("closed by this process");
        } catch (Throwable e) { // such as out of memory for the thread
            isStarted.set(true); // if it is queued nevertheless, it will not be sent
            LogOnce.warn("layer", "A lookup in " + layer.name() + " failed: " + e);
            return failed(String.valueOf(e));
        }
        try {
            LoadResult result = answer.get(limitNanos, TimeUnit.NANOSECONDS);
            if (result instanceof LoadResult.Unavailable lost) {
                failure.failed(lost.cause());
            }
            return result;
        } catch (TimeoutException e) {
            String cause = "no answer within " + Duration.ofNanos(limitNanos).toMillis() + " ms";
            if (isStarted.compareAndSet(false, true)) { // still queued: it will not be sent
                failure.timedOut(cause);
            } else {
                failure.abandoned(cause);
                CompletableFuture<LoadResult> _ = answer.whenComplete(this::late);
            }
            return new LoadResult.Unavailable(cause);
        } catch (InterruptedException e) {
            isStarted.set(true); // a queued load will not be sent
            Thread.currentThread().interrupt();
            return failed("interrupted");
        } catch (ExecutionException e) { // against the contract
            LogOnce.warn("layer", "A lookup in " + layer.name() + " failed: " + e.getCause());
            return failed(String.valueOf(e.getCause()));
        }
    }

    private LoadResult failed(String cause) {
        failure.failed(cause);
        return new LoadResult.Unavailable(cause);
    }

    private void late(@Nullable LoadResult result, @Nullable Throwable error) {
        if (result != null) {
            failure.lateAnswer(result);
        } else {
            failure.lateFailure(String.valueOf(error));
        }
    }

    /** Loads in the background to find out whether the lookup would have saved time. */
    private void probe(Id id) {
        try {
            threads.execute(() -> {
                long savedNanos = 0;
                try {
                    long start = System.nanoTime();
                    switch (layer.tier().cache().load(id)) {
                        case LoadResult.Hit(Entry entry) ->
                            savedNanos =
                                    CompileTimeEstimate.stated(entry) - (System.nanoTime() - start);
                        case LoadResult.Unavailable lost -> failure.failed(lost.cause());
                        case LoadResult.Absent _, LoadResult.Damaged _ -> {}
                    }
                } catch (Throwable e) {
                    // closed, a broken contract, or an error: uncaught, it would be printed to the
                    // user
                    LogOnce.warn("layer", "A lookup in " + layer.name() + " failed: " + e);
                    layer.tier()
                            .count(
                                    id,
                                    failed(String.valueOf(e)),
                                    0,
                                    layer.tier().beginLoad());
                } finally {
                    budget.probeEnded(savedNanos);
                }
            });
        } catch (RejectedExecutionException e) {
            budget.probeEnded(0);
        } catch (Throwable e) { // such as out of memory for the thread
            failure.failed(String.valueOf(e));
            budget.probeEnded(0);
        }
    }
}
