package dev.granary.coordinator;

import dev.granary.cache.support.Ticker;
import java.time.Duration;
import java.util.NavigableMap;
import java.util.TreeMap;

/** A monotonic clock that only pauses move, and what happens at its moments. */
public final class FakeTime implements Ticker {
    long nanos = -Duration.ofDays(1).toNanos(); // as on machines whose clock counts from anywhere
    public long longestPause;
    private final NavigableMap<Long, Runnable> events = new TreeMap<>();

    /** Lets {@code event} happen so much later. */
    public void after(Duration time, Runnable event) {
        events.put(nanos + time.toNanos(), event);
    }

    @Override
    public long nanos() {
        return nanos;
    }

    @Override
    public void pause(Duration pause) {
        longestPause = Math.max(longestPause, pause.toNanos());
        pass(pause.toNanos());
    }

    public void pass(long time) {
        nanos += time;
        while (!events.isEmpty() && events.firstKey() <= nanos) {
            events.pollFirstEntry().getValue().run();
        }
    }
}
