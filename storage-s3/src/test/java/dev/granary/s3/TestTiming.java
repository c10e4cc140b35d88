package dev.granary.s3;

import dev.granary.cache.support.Ticker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** A manual clock; pauses advance it, too, and are recorded. Thread-safe. */
public final class TestTiming implements Ticker {
    private final List<Duration> pauses = new ArrayList<>();
    private long now = 1_000_000_000_000L;

    @Override
    public synchronized long nanos() {
        return now;
    }

    @Override
    public synchronized void pause(Duration duration) {
        pauses.add(duration);
        now += duration.toNanos();
    }

    public synchronized void pass(Duration duration) {
        now += duration.toNanos();
    }

    public synchronized List<Duration> pauses() {
        return List.copyOf(pauses);
    }
}
