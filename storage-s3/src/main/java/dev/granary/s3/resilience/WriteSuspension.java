package dev.granary.s3.resilience;

import dev.granary.cache.support.Ticker;
import dev.granary.s3.config.S3Location;
import dev.granary.s3.store.StoreFailure;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Suspends the writes of a tier after the bucket refused one: one log line instead of a refused
 * request for each entry.
 */
public final class WriteSuspension {
    private static final Logger LOG = LoggerFactory.getLogger(WriteSuspension.class);

    private record Pause(StoreFailure reason, long fromNanos) {}

    private final AtomicReference<@Nullable Pause> current = new AtomicReference<>();
    private final Duration length;
    private final Ticker timing;
    private final S3Location location;

    public WriteSuspension(S3Location location, Duration length, Ticker timing) {
        this.location = location;
        this.length = length;
        this.timing = timing;
    }

    public void begin(StoreFailure reason) {
        Pause mine = new Pause(reason, timing.nanos());
        Pause before = current.getAndSet(mine);
        if (before == null || left(before).isZero()) {
            LOG.warn("{} takes no entries, it is only read for the next {} s: {}", location, length.toSeconds(), reason);
        }
    }

    /** Returns the reason why writes are suspended; empty if they are not. */
    public Optional<StoreFailure> reason() {
        Pause pause = current.get();
        return pause == null || left(pause).isZero() ? Optional.empty() : Optional.of(pause.reason());
    }

    /** Returns the remaining time of the suspension; zero if there is none. */
    public Duration left() {
        Pause pause = current.get();
        return pause == null ? Duration.ZERO : left(pause);
    }

    private Duration left(Pause pause) {
        Duration left = length.minusNanos(timing.nanos() - pause.fromNanos());
        return left.isNegative() ? Duration.ZERO : left;
    }
}
