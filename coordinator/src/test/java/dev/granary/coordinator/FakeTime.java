package dev.granary.coordinator;

import java.time.Duration;
import java.util.NavigableMap;
import java.util.TreeMap;

/** A monotonic clock that only pauses move, and what happens at its moments. */
final class FakeTime implements MonotonicTime {
    long nanos = -Duration.ofDays(1).toNanos(); // as on machines whose clock counts from anywhere
    long longestPause;
    private final NavigableMap<Long, Runnable> events = new TreeMap<>();

    /** Lets {@code event} happen so much later. */
    void after(Duration time, Runnable event) {
        events.put(nanos + time.toNanos(), event);
    }

    @Override
    public long nanos() {
        return nanos;
    }

    @Override
    public void pause(long pause) {
        longestPause = Math.max(longestPause, pause);
        pass(pause);
    }

    void pass(long time) {
        nanos += time;
        while (!events.isEmpty() && events.firstKey() <= nanos) {
            events.pollFirstEntry().getValue().run();
        }
    }
}
