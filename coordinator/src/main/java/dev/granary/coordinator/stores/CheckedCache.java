package dev.granary.coordinator.stores;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.cache.support.DaemonThreads;
import dev.granary.cache.support.LogOnce;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.toml.SafeText;
import dev.granary.s3.config.S3Config;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/**
 * View of a plugged cache that keeps the contract of {@link PersistentCache} even if the cache
 * breaks it. Thread-safe.
 *
 * <ul>
 *   <li>A call that throws, even an error, or that returns null counts as a call without an answer.
 *   <li>A hit with another id, with binaries that do not match their hash, or with a compile time
 *       out of range is {@link LoadResult.Damaged}.
 *   <li>A call ends within its limit, on a thread of the view. While a call is overdue, later calls
 *       are answered at once, without the cache: a cache that hangs costs each waiting caller one
 *       limit, and takes no further threads.
 * </ul>
 *
 * <p>{@link #close()} closes the view. The cache belongs to the application, which closes it.
 */
public final class CheckedCache implements PersistentCache {
    /** The limit of a load from the local tier: as long as lookups wait for a bucket by default. */
    private static final Duration LOCAL_LIMIT = GranaryConfig.DEFAULT_BUCKET_WAIT;

    /** The limit of a store, in the background: as long as all requests for one entry may take. */
    private static final Duration STORE_LIMIT = Duration.ofSeconds(60);

    /** The threads of lookups of one layer: more callers wait for one of them. */
    private static final int MAX_CONCURRENT = 64;

    private static final Duration IDLE_TIME = Duration.ofSeconds(10);

    private final String name;
    private final PersistentCache cache;
    private final Duration loadLimit;
    private final Duration storeLimit;
    private final AtomicInteger overdue = new AtomicInteger();
    private volatile boolean isClosed;
    private final ExecutorService threads =
            DaemonThreads.pool("granary-plugged", MAX_CONCURRENT, IDLE_TIME);

    CheckedCache(String name, PersistentCache cache, Duration loadLimit, Duration storeLimit) {
        this.name = name;
        this.cache = cache;
        this.loadLimit = loadLimit;
        this.storeLimit = storeLimit;
    }

    /** Returns a view of the cache in the place of the local tier. */
    public static CheckedCache asLocalTier(PersistentCache cache) {
        return new CheckedCache("the local cache", cache, LOCAL_LIMIT, STORE_LIMIT);
    }

    /**
     * Returns a view of the cache of a layer. A load has the limit of a bucket.
     *
     * @param bucketWait the configured wait for a layer, which may be longer
     */
    public static CheckedCache asLayer(String name, PersistentCache cache, Duration bucketWait) {
        Duration loadLimit = bucketWait.compareTo(S3Config.DEFAULT_LOAD_DEADLINE) > 0
                ? bucketWait
                : S3Config.DEFAULT_LOAD_DEADLINE;
        return new CheckedCache(name, cache, loadLimit, STORE_LIMIT);
    }

    @Override
    public LoadResult load(Id id) {
        return switch (call(() -> loadWithMetadata(id), loadLimit)) {
            case Answer.Returned<LoadResult>(LoadResult result) -> inspect(id, result);
            case Answer.Unsent<LoadResult>(String cause) -> new LoadResult.Unavailable(cause);
            case Answer.Lost<LoadResult>(String cause) -> new LoadResult.Unavailable(cause);
        };
    }

    /**
     * Loads an entry and reads its metadata once, within the limit. Their source is code of the
     * cache, which the thread of write-behind calls later.
     */
    private LoadResult loadWithMetadata(Id id) {
        LoadResult result = cache.load(id);
        if (result instanceof LoadResult.Hit(Entry entry)) {
            Objects.requireNonNull(entry.metadata(), "the metadata are null");
        }
        return result;
    }

    @Override
    public StoreResult store(Entry entry) {
        return switch (call(() -> cache.store(entry), storeLimit)) {
            case Answer.Returned<StoreResult>(StoreResult result) -> result;
            case Answer.Unsent<StoreResult>(String cause) -> new StoreResult.Failed(cause);
            case Answer.Lost<StoreResult>(String cause) -> new StoreResult.Unknown(cause);
        };
    }

    /** Discards an entry; if that fails, the entry stays and is rejected again. */
    @Override
    public void discard(Entry entry) {
        call(
                () -> {
                    cache.discard(entry);
                    return entry;
                },
                loadLimit);
    }

    @Override
    public void close() {
        isClosed = true;
        threads.shutdown();
    }

    /** Inspects a result on the thread of the caller, which must be able to read the binaries. */
    private LoadResult inspect(Id id, LoadResult result) {
        try {
            return switch (result) {
                case LoadResult.Hit(Entry entry) -> inspect(id, entry, result);
                case LoadResult.Absent _ -> result;
                case LoadResult.Damaged(DamageKind damage, String detail) ->
                    new LoadResult.Damaged(
                            Objects.requireNonNull(damage), SafeText.inOneLine(detail));
                case LoadResult.Unavailable(String cause) ->
                    new LoadResult.Unavailable(SafeText.inOneLine(cause));
            };
        } catch (Throwable e) {
            return new LoadResult.Unavailable(broken(e));
        }
    }

    private static LoadResult inspect(Id id, Entry entry, LoadResult hit) {
        if (!entry.id().equals(id)) {
            return new LoadResult.Damaged(DamageKind.WRONG_KEY, "an entry of another id");
        }
        if (!Entry.contentHash(id, entry.binaries()).equals(entry.contentHash())) {
            return new LoadResult.Damaged(
                    DamageKind.CORRUPT, "the binaries do not match their SHA-256");
        }
        Duration compileTime = entry.compileTime();
        if (compileTime.isNegative()
                || compileTime.compareTo(Duration.ofNanos(Long.MAX_VALUE)) > 0) {
            return new LoadResult.Damaged(
                    DamageKind.CORRUPT, "the compile time is out of range: " + compileTime);
        }
        return hit;
    }

    /** Answer of the cache to one call. */
    private sealed interface Answer<R> {
        /** The cache returned a result. */
        record Returned<R>(R result) implements Answer<R> {}

        /** The cache was not called. */
        record Unsent<R>(String cause) implements Answer<R> {}

        /** The cache was called and gave no result, so the effect of the call is unknown. */
        record Lost<R>(String cause) implements Answer<R> {}
    }

    /** State of one call. */
    private enum State {
        QUEUED,
        STARTED,
        ENDED,
        CANCELLED,
        OVERDUE
    }

    /** A call of the cache, by a thread of the view. */
    private final class Call<R> implements Runnable {
        private final Callable<R> action;
        private final CompletableFuture<R> result = new CompletableFuture<>();
        private final AtomicReference<State> state = new AtomicReference<>(State.QUEUED);

        Call(Callable<R> action) {
            this.action = action;
        }

        @Override
        public void run() {
            if (!state.compareAndSet(State.QUEUED, State.STARTED)) {
                return;
            }
            try {
                result.complete(Objects.requireNonNull(action.call(), "the result is null"));
            } catch (Throwable e) { // a broken contract or an error: passed to the caller
                result.completeExceptionally(e);
            } finally {
                if (state.getAndSet(State.ENDED) == State.OVERDUE) {
                    overdue.decrementAndGet();
                }
            }
        }

        /** Ends the wait for a call that is queued or under way. */
        Answer<R> abandon(Duration limit) {
            String cause = "no answer within " + limit.toMillis() + " ms";
            if (state.compareAndSet(State.QUEUED, State.CANCELLED)) {
                return new Answer.Unsent<>(cause);
            }
            overdue.incrementAndGet();
            if (!state.compareAndSet(State.STARTED, State.OVERDUE)) {
                overdue.decrementAndGet(); // it ended in this moment
            }
            LogOnce.warn("overdue " + name, "A call of " + name + " is overdue: " + cause);
            return new Answer.Lost<>(cause);
        }
    }

    private <R> Answer<R> call(Callable<R> action, Duration limit) {
        if (isClosed) {
            throw new IllegalStateException(name + " is closed");
        }
        if (overdue.get() > 0) {
            return new Answer.Unsent<>("skipped: an earlier call has not returned");
        }
        Call<R> call = new Call<>(action);
        try {
            threads.execute(call);
        } catch (RejectedExecutionException e) {
            return new Answer.Unsent<>("closed by this process");
        } catch (Throwable e) { // such as out of memory for the thread
            call.state.compareAndSet(State.QUEUED, State.CANCELLED);
            return new Answer.Unsent<>(broken(e));
        }
        return await(call, limit);
    }

    /**
     * Waits for a call. As with the local tier, an interrupt has no effect on the result: a caller
     * that left would have to count a sound call as overdue.
     */
    private <R> Answer<R> await(Call<R> call, Duration limit) {
        long start = System.nanoTime();
        boolean isInterrupted = false;
        try {
            while (true) {
                try {
                    return new Answer.Returned<>(call.result.get(
                            limit.toNanos() - (System.nanoTime() - start), TimeUnit.NANOSECONDS));
                } catch (InterruptedException e) {
                    isInterrupted = true;
                } catch (TimeoutException e) {
                    return call.abandon(limit);
                } catch (ExecutionException e) {
                    return new Answer.Lost<>(broken(e.getCause()));
                }
            }
        } finally {
            if (isInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Logs a broken contract, and returns its cause. */
    private String broken(@Nullable Throwable thrown) {
        String cause;
        try {
            cause = SafeText.inOneLine(String.valueOf(thrown));
        } catch (Throwable e) { // the text of the exception is code of the cache, too
            cause = String.valueOf(thrown == null ? null : thrown.getClass().getName());
        }
        LogOnce.warn("broken " + name, "A call of " + name + " failed: " + cause);
        return cause;
    }
}
