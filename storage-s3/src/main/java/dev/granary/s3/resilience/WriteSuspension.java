package dev.granary.s3.resilience;

import dev.granary.cache.support.Ticker;
import dev.granary.s3.config.S3Location;
import dev.granary.s3.store.StoreFailure;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Suspends the writes of a tier after the bucket refused one: one log line instead of a refused
 * request for each entry. Thread-safe.
 */
public final class WriteSuspension {
    private static final Logger LOG = LoggerFactory.getLogger(WriteSuspension.class);

    /** The refusal that suspended writes, and its time. */
    private record Suspension(StoreFailure reason, long fromNanos) {}

    private final AtomicReference<@Nullable Suspension> current = new AtomicReference<>();
    private final Duration duration;
    private final Ticker ticker;
    private final S3Location location;

    public WriteSuspension(S3Location location, Duration duration, Ticker ticker) {
        this.location = location;
        this.duration = duration;
        this.ticker = ticker;
    }

    /** Suspends writes from now on, for the configured time. */
    public void suspend(StoreFailure reason) {
        Suspension started = new Suspension(reason, ticker.nanos());
        Suspension previous = current.getAndSet(started);
        if (previous == null || remaining(previous).isZero()) {
            LOG.warn(
                    "{} refused a write and is read-only for the next {} s: {}",
                    location,
                    duration.toSeconds(),
                    reason);
        }
    }

    /** Returns the reason why writes are suspended; empty if they are not. */
    public Optional<StoreFailure> reason() {
        Suspension suspension = current.get();
        return suspension == null || remaining(suspension).isZero()
                ? Optional.empty()
                : Optional.of(suspension.reason());
    }

    /** Returns the remaining time of the suspension; zero if there is none. */
    public Duration remaining() {
        Suspension suspension = current.get();
        return suspension == null ? Duration.ZERO : remaining(suspension);
    }

    private Duration remaining(Suspension suspension) {
        Duration remaining = duration.minusNanos(ticker.nanos() - suspension.fromNanos());
        return remaining.isNegative() ? Duration.ZERO : remaining;
    }
}
