package dev.granary.coordinator.observe;

import dev.granary.cache.support.TaskQueue;
import dev.granary.cache.support.Warnings;
import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.event.GranaryListener;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.toml.SafeText;

import org.jspecify.annotations.Nullable;

/**
 * Queue of the events of one listener, with a thread of its own: a listener that blocks delays
 * neither lookups nor other listeners. Thread-safe.
 */
final class ListenerQueue {
    /** The most events that wait. An event takes some 200 bytes. */
    static final int LENGTH = 8192;

    private final GranaryListener listener;
    private final boolean wantsMemoryHits;
    private final Counters counters;
    private volatile @Nullable Thread delivering;
    private final TaskQueue events = new TaskQueue("granary-listener", 1, LENGTH);

    ListenerQueue(GranaryListener listener, Counters counters) {
        this.listener = listener;
        this.wantsMemoryHits = wantsMemoryHits(listener);
        this.counters = counters;
    }

    private static boolean wantsMemoryHits(GranaryListener listener) {
        try {
            return listener.wantsMemoryHits();
        } catch (Throwable e) {
            failed(e);
            return false;
        }
    }

    boolean wantsMemoryHits() {
        return wantsMemoryHits;
    }

    /** Adds an event; if the queue is full or closed, the event is dropped and counted. */
    void add(GranaryEvent event) {
        if (!events.submit(() -> deliver(event))) {
            counters.increment(Counter.EVENTS_DROPPED);
        }
    }

    private void deliver(GranaryEvent event) {
        delivering = Thread.currentThread();
        try {
            listener.onEvent(event);
        } catch (Throwable e) {
            failed(e);
        }
    }

    private static void failed(Throwable thrown) {
        Warnings.warn(
                "event listener", "A listener of events failed: " + SafeText.inOneLine(thrown));
    }

    /**
     * Waits until all events are delivered, or until {@code System.nanoTime()} reaches
     * {@code deadline}; the rest is dropped and counted, and the listener interrupted. A listener
     * that closes its own Granary gets the rest later.
     */
    void close(long deadline) {
        try {
            if (Thread.currentThread() == delivering || events.awaitIdle(deadline)) {
                events.close();
                return;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        counters.add(Counter.EVENTS_DROPPED, events.drain().size());
    }
}
