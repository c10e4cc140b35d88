package dev.granary.coordinator.lookup;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.support.DaemonThreads;
import dev.granary.cache.support.LogOnce;
import dev.granary.coordinator.statistics.LayerStatistics;
import dev.granary.coordinator.stores.OpenLayer;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Asks one layer on behalf of look-ups, and lets none wait longer than that is {@link LookupTimeBudget}. Each question runs on a thread of the layer's own,
 * so that its caller can go on without the answer, and so that a layer that hangs takes nothing from the others. Thread-safe.
 */
public final class LayerClient implements AutoCloseable {
    /** As many as a bucket tier sends requests at once: more would wait there. */
    private static final int AT_ONCE = 64;

    private static final long IDLE_SECONDS = 10;

    private final OpenLayer layer;
    private final LookupTimeBudget worth;
    private final CompileTimeEstimate cost;
    private final LongAdder skipped = new LongAdder();
    private final LayerFailure trouble = new LayerFailure();
    private final ThreadPoolExecutor threads = new ThreadPoolExecutor(AT_ONCE, AT_ONCE, IDLE_SECONDS, TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(), DaemonThreads.named("granary-ask"));

    public LayerClient(OpenLayer layer, CompileTimeEstimate cost, LookupTimeBudget worth) {
        this.layer = layer;
        this.worth = worth;
        this.cost = cost;
        threads.allowCoreThreadTimeOut(true);
    }

    /** What it has, if that is worth the time; waits at most {@code mostNanos}. */
    public Optional<Entry> ask(Id id, long mostNanos) {
        return switch (worth.verdict()) {
            case LookupTimeBudget.Verdict.Ask(long limit) -> load(id, Math.min(limit, mostNanos)) instanceof LoadResult.Hit(Entry entry)
                    ? Optional.of(entry)
                    : Optional.empty();
            case LookupTimeBudget.Verdict.Probe _ -> {
                skipped.increment();
                probe(id);
                yield Optional.empty();
            }
            case LookupTimeBudget.Verdict.Skip _ -> {
                skipped.increment();
                yield Optional.empty();
            }
        };
    }

    /** The entry that it had was used. */
    void used(Entry entry) {
        worth.saved(entry.compileTime().toNanos());
        cost.seen(entry.compileTime().toNanos());
    }

    /** The driver would not take the entry that it had. */
    void refused(Entry entry) {
        layer.tier().cache().discard(entry);
    }

    public LayerStatistics statistics() {
        return new LayerStatistics(layer.name(), layer.tier().statistics().snapshot(), skipped.sum(), trouble.cause(), trouble.open(),
                trouble.soundLate(), layer.tier().lostPacks().snapshot());
    }

    /** Begins no question any more; those under way end by themselves. */
    @Override
    public void close() {
        threads.shutdown();
    }

    private LoadResult load(Id id, long limit) {
        long start = System.nanoTime();
        LoadResult result = answer(id, limit);
        long took = System.nanoTime() - start;
        worth.spent(took);
        return layer.tier().statistics().count(result, took);
    }

    private LoadResult answer(Id id, long limit) {
        CompletableFuture<LoadResult> answer = new CompletableFuture<>();
        AtomicBoolean hasBegun = new AtomicBoolean();
        try {
            threads.execute(() -> {
                if (hasBegun.compareAndSet(false, true)) {
                    try {
                        answer.complete(layer.tier().cache().load(id));
                    } catch (Throwable e) { // against the contract, or an error: told to the caller
                        answer.completeExceptionally(e);
                    }
                }
            });
        } catch (RejectedExecutionException e) {
            return failed("this process has closed it");
        }
        try {
            LoadResult result = answer.get(limit, TimeUnit.NANOSECONDS);
            if (result instanceof LoadResult.Unavailable lost) {
                trouble.failed(lost.cause());
            }
            return result;
        } catch (TimeoutException e) {
            String cause = "no answer within " + Duration.ofNanos(limit).toMillis() + " ms";
            if (hasBegun.compareAndSet(false, true)) { // the question waits for a thread, and will not be asked
                trouble.timedOut(cause);
            } else {
                trouble.left(cause);
                CompletableFuture<LoadResult> _ = answer.whenComplete(this::late);
            }
            return new LoadResult.Unavailable(cause);
        } catch (InterruptedException e) {
            hasBegun.set(true); // a question that has not begun will not be asked
            Thread.currentThread().interrupt();
            return failed("interrupted");
        } catch (ExecutionException e) { // against the contract
            LogOnce.warn("ask", "A look-up in " + layer.name() + " failed: " + e.getCause());
            return failed(String.valueOf(e.getCause()));
        }
    }

    private LoadResult failed(String cause) {
        trouble.failed(cause);
        return new LoadResult.Unavailable(cause);
    }

    private void late(@Nullable LoadResult result, @Nullable Throwable failure) {
        if (result != null) {
            trouble.answered(result);
        } else {
            trouble.failedLate(String.valueOf(failure));
        }
    }

    /** Finds out whether asking would have been worth it; nobody waits for that. */
    private void probe(Id id) {
        try {
            threads.execute(() -> {
                long gained = 0;
                try {
                    long start = System.nanoTime();
                    switch (layer.tier().cache().load(id)) {
                        case LoadResult.Hit(Entry entry) -> gained = entry.compileTime().toNanos() - (System.nanoTime() - start);
                        case LoadResult.Unavailable lost -> trouble.failed(lost.cause());
                        case LoadResult.Absent _, LoadResult.Damaged _ -> {}
                    }
                } catch (Throwable e) { // closed meanwhile, against the contract, or an error: this thread's end would print it to the user
                    LogOnce.warn("ask", "A look-up in " + layer.name() + " failed: " + e);
                    layer.tier().statistics().count(failed(String.valueOf(e)), 0);
                } finally {
                    worth.probed(gained);
                }
            });
        } catch (RejectedExecutionException e) {
            worth.probed(0);
        }
    }
}
