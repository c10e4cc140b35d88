package dev.granary.coordinator.tier;

import dev.granary.cache.Deadline;
import dev.granary.cache.support.DaemonThreads;
import dev.granary.cache.support.Lazy;
import dev.granary.coordinator.toml.SafeText;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * The start of the client of a layer in the background, since loading a client library takes most
 * of a second. A layer that cannot be reached is tried again every half minute. Thread-safe.
 */
final class LayerStart {
    private static final long LEAST_WAIT_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final Duration PAUSE = Duration.ofSeconds(30);

    private final Supplier<Optional<String>> action;
    private final Duration wait;
    private final LongSupplier nanos;
    private volatile Attempt last; // written under this

    /**
     * An attempt to start.
     *
     * @param lookups the wait of all lookups: a start that hangs would otherwise delay each
     * @param pause the time before another attempt
     */
    private record Attempt(
            CompletableFuture<Optional<String>> result, Lazy<Deadline> lookups, Deadline pause) {}

    /**
     * Begins the start.
     *
     * @param action returns the reason why the layer cannot be reached; empty if it can
     * @param waitNanos how long lookups wait for it, from the first of them; at least 2 s
     */
    LayerStart(Supplier<Optional<String>> action, long waitNanos, LongSupplier nanos) {
        this.action = action;
        this.wait = Duration.ofNanos(Math.max(waitNanos, LEAST_WAIT_NANOS));
        this.nanos = nanos;
        this.last = begin();
    }

    private Attempt begin() {
        CompletableFuture<Optional<String>> result;
        try {
            result = CompletableFuture.supplyAsync(
                            action, task -> DaemonThreads.named("granary-start")
                                    .newThread(task)
                                    .start())
                    // such as of a client library
                    .exceptionally(e ->
                            Optional.of(SafeText.inOneLine(Objects.requireNonNull(e.getCause()))));
        } catch (Throwable e) { // no thread: the first lookup does it
            result = CompletableFuture.completedFuture(Optional.empty());
        }
        return new Attempt(
                result,
                new Lazy<>(() -> Deadline.after(wait, nanos)),
                Deadline.after(PAUSE, nanos));
    }

    /** Returns the reason why a lookup cannot use the layer now. */
    Optional<String> lookupObstacle(Deadline deadline) {
        return obstacle(deadline.within(last.lookups().get().left()));
    }

    /** Returns the reason why the layer cannot be used now, after a wait for its start. */
    Optional<String> obstacle(Deadline deadline) {
        try {
            Optional<String> obstacle = last.result().get(deadline.left(), TimeUnit.NANOSECONDS);
            if (obstacle.isPresent()) {
                retryLater();
            }
            return obstacle;
        } catch (TimeoutException e) {
            return Optional.of("its client is still starting");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.of("interrupted");
        } catch (ExecutionException e) { // it completes with a value only
            throw new IllegalStateException(e);
        }
    }

    private synchronized void retryLater() {
        if (last.result().isDone() && last.pause().isOver()) {
            last = begin();
        }
    }
}
