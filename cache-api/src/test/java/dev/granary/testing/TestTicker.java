package dev.granary.testing;

import dev.granary.cache.support.Ticker;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * A manual monotonic clock. Pauses advance it and are recorded, and scheduled events run when their
 * time comes. Thread-safe.
 */
public final class TestTicker implements Ticker {
    private final List<Duration> pauses = new ArrayList<>();
    private final NavigableMap<Long, Runnable> events = new TreeMap<>();
    // negative: the origin of a clock is arbitrary
    private long nanos = -Duration.ofDays(1).toNanos();

    @Override
    public synchronized long nanos() {
        return nanos;
    }

    @Override
    public void pause(Duration duration) {
        synchronized (this) {
            pauses.add(duration);
        }
        pass(duration);
    }

    /** Advances the clock, and runs the events on the way, on this thread and without a lock. */
    public void pass(Duration duration) {
        synchronized (this) {
            nanos += duration.toNanos();
        }
        for (Runnable due = nextDue(); due != null; due = nextDue()) {
            due.run();
        }
    }

    private synchronized @Nullable Runnable nextDue() {
        Map.Entry<Long, Runnable> first = events.firstEntry();
        return first == null || first.getKey() > nanos
                ? null
                : events.pollFirstEntry().getValue();
    }

    /** Schedules {@code event}, which runs on the thread that advances the clock. */
    @Override
    public synchronized void after(Duration delay, Runnable event) {
        events.put(nanos + delay.toNanos(), event);
    }

    /** Returns all pauses so far. */
    public synchronized List<Duration> pauses() {
        return List.copyOf(pauses);
    }

    /** Returns the longest pause so far. */
    public Duration longestPause() {
        return pauses().stream().max(Duration::compareTo).orElse(Duration.ZERO);
    }
}
