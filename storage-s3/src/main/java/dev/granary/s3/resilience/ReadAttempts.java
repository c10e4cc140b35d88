package dev.granary.s3.resilience;

import dev.granary.cache.support.Ticker;
import dev.granary.s3.store.StoreFailure;

import io.github.resilience4j.retry.Retry;

import java.time.Duration;
import java.util.Optional;

/** The attempts at one read, with a pause after each but the last. Not thread-safe. */
final class ReadAttempts {
    private static final long NO_RETRY = -1;

    /**
     * Maximum number of attempts, unless the server responds that it is overloaded or has failed
     * (429, 5xx): others may each take as long as a stall.
     */
    private static final int MAX_ATTEMPTS_UNLESS_ASKED = 3;

    private final Retry.AsyncContext<Optional<StoreFailure>> policy;
    private final Ticker ticker;
    private final long lastStart;
    private int sent;
    private long pauseMillis = NO_RETRY;

    /**
     * Begins a read.
     *
     * @param policy decides on retries and their pauses
     * @param lastStart the time of {@code ticker} after which no attempt may begin
     */
    ReadAttempts(Retry.AsyncContext<Optional<StoreFailure>> policy, Ticker ticker, long lastStart) {
        this.policy = policy;
        this.ticker = ticker;
        this.lastStart = lastStart;
    }

    /**
     * Returns true if a request with this outcome is not retried; called once for each that was
     * sent.
     */
    boolean isFinal(Optional<StoreFailure> failure) {
        long pause = ++sent >= MAX_ATTEMPTS_UNLESS_ASKED
                        && failure.filter(ReadAttempts::isServerStatus).isEmpty()
                ? NO_RETRY
                : policy.onResult(failure);
        boolean hasTime = lastStart - ticker.nanos() - pause * 1_000_000 >= 0;
        pauseMillis = pause < 0 || !hasTime ? NO_RETRY : pause;
        return hasEnded();
    }

    private static boolean isServerStatus(StoreFailure failure) {
        return failure.kind() == StoreFailure.Kind.THROTTLED
                || failure.kind() == StoreFailure.Kind.SERVER;
    }

    boolean hasEnded() {
        return pauseMillis == NO_RETRY;
    }

    /** Waits before the next attempt; returns false if this thread was interrupted. */
    boolean pause() {
        try {
            ticker.pause(Duration.ofMillis(pauseMillis));
            pauseMillis = NO_RETRY; // in case the next attempt is not sent
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
