package dev.granary.s3.resilience;

import dev.granary.cache.Deadline;
import dev.granary.cache.support.Ticker;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.store.StoreFailure;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;

/** The attempts at one read, with a pause after each but the last. Not thread-safe. */
final class ReadAttempts {
    private static final long NO_RETRY = -1;

    /**
     * Maximum number of attempts, unless the server responds that it is overloaded or has failed
     * (429, 5xx): others may each take as long as a stall.
     */
    private static final int MAX_ATTEMPTS_UNLESS_ASKED = 3;

    private final S3Config config;
    private final Ticker ticker;
    private final Deadline deadline;
    private int sent;
    private long pauseNanos = NO_RETRY;

    /**
     * Begins a read.
     *
     * @param deadline no attempt begins after it
     */
    ReadAttempts(S3Config config, Ticker ticker, Deadline deadline) {
        this.config = config;
        this.ticker = ticker;
        this.deadline = deadline;
    }

    /**
     * Returns true if a request with this outcome is not retried; called once for each that was
     * sent.
     */
    boolean isFinal(Optional<StoreFailure> failure) {
        int max = failure.filter(ReadAttempts::isServerStatus).isPresent()
                ? config.readAttempts()
                : Math.min(config.readAttempts(), MAX_ATTEMPTS_UNLESS_ASKED);
        // doubles each time, and differs by up to half from that of other processes
        double pause = config.retryPause().toNanos()
                * (double) (1L << sent)
                * ThreadLocalRandom.current().nextDouble(0.5, 1.5);
        boolean isRetried = ++sent < max
                && failure.filter(StoreFailure::isTransient).isPresent()
                && deadline.left() >= pause;
        pauseNanos = isRetried ? (long) pause : NO_RETRY;
        return !isRetried;
    }

    private static boolean isServerStatus(StoreFailure failure) {
        return failure.kind() == StoreFailure.Kind.THROTTLED
                || failure.kind() == StoreFailure.Kind.SERVER;
    }

    boolean hasEnded() {
        return pauseNanos == NO_RETRY;
    }

    /** Waits before the next attempt; returns false if this thread was interrupted. */
    boolean pause() {
        try {
            ticker.pause(Duration.ofNanos(pauseNanos));
            pauseNanos = NO_RETRY; // in case the next attempt is not sent
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
