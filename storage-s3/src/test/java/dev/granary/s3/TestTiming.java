package dev.granary.s3;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** A clock that tests turn by hand; waiting turns it, too, and is written down. Thread-safe. */
final class TestTiming implements Timing {
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

    synchronized void pass(Duration duration) {
        now += duration.toNanos();
    }

    synchronized List<Duration> pauses() {
        return List.copyOf(pauses);
    }
}
