package dev.granary.coordinator;

import dev.granary.cache.support.Ticker;
import java.time.Duration;
import java.util.NavigableMap;
import java.util.TreeMap;

/** A monotonic clock that only pauses advance, with events at given times. */
public final class FakeTime implements Ticker {
    // negative, as on machines whose clock has any origin
    long nanos = -Duration.ofDays(1).toNanos();
    public long longestPause;
    private final NavigableMap<Long, Runnable> events = new TreeMap<>();

    /** Schedules {@code event} after {@code time}. */
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
