package dev.granary.coordinator.observe;

import dev.granary.cache.Deadline;
import dev.granary.cache.Id;
import dev.granary.cache.Primitive;
import dev.granary.cache.memory.EvictionListener;
import dev.granary.cache.support.TaskQueue;
import dev.granary.cache.support.Warnings;
import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.event.GranaryListener;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.coordinator.toml.SafeText;

import jdk.jfr.Event;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * Dispatcher of events to the listeners of one Granary and to the flight recorder. For a kind of
 * event without an observer, neither values nor times are taken. Thread-safe.
 */
public final class EventDispatcher {
    /** The most events that wait for a listener. An event takes some 200 bytes. */
    private static final int QUEUE_LENGTH = 8192;

    private final Counters counters;
    private final List<Receiver> receivers;
    private final boolean areMemoryHitsWanted;

    /** Creates a dispatcher. Dropped events are counted in {@code counters}. */
    public EventDispatcher(List<GranaryListener> listeners, Counters counters) {
        this.counters = counters;
        this.receivers = listeners.stream().map(Receiver::new).toList();
        this.areMemoryHitsWanted =
                receivers.stream().anyMatch(receiver -> receiver.wantsMemoryHits);
    }

    /** Returns the digest that events have for {@code id}; empty for the empty id. */
    public static String digest(Id id) {
        return id.isEmpty() ? "" : id.hash().hex();
    }

    /** Begins an event, which has no effect unless it is ended. */
    public Span begin(EventKind kind) {
        return new Span(kind);
    }

    /** Begins an eviction from {@code tier}; its end adds the evicted entries to a counter. */
    public EvictionListener.Eviction beginEviction(String tier, Counter counter) {
        Span span = begin(EventKind.EVICTION);
        return (entries, bytes) -> {
            counters.add(counter, entries);
            span.end(took -> new GranaryEvent.Eviction(tier, entries, bytes, took));
        };
    }

    /** Returns true if hits in memory have an observer. */
    public boolean observesMemoryHits() {
        return areMemoryHitsWanted || EventKind.MEMORY_HIT.isEnabled();
    }

    /** Dispatches the event of a lookup that ended in memory and took {@code nanos} nanoseconds. */
    public void memoryHit(Primitive primitive, PrimitiveSource source, long nanos) {
        // the cached descriptor has its id; that of the caller may have to compute it
        begin(EventKind.MEMORY_HIT)
                .end(_ -> new GranaryEvent.Lookup(
                        digest(primitive.descriptor().getId()),
                        primitive.descriptor().target(),
                        Optional.of(source),
                        Optional.empty(),
                        0,
                        Duration.ofNanos(nanos)));
    }

    /** Time of an event from its begin to its end. Ended at most once, by one thread. */
    public final class Span {
        private final EventKind kind;
        private final @Nullable Event recorded;
        private final long start;

        private Span(EventKind kind) {
            this.kind = kind;
            this.recorded = kind.begin();
            this.start = isObserved() ? System.nanoTime() : 0;
        }

        /** Returns whether the end of this event has a receiver. */
        public boolean isObserved() {
            return recorded != null || !receivers.isEmpty();
        }

        /** Dispatches the event, if it has an observer. */
        public void end(Function<Duration, GranaryEvent> event) {
            if (!isObserved()) {
                return;
            }
            try {
                GranaryEvent ended = event.apply(Duration.ofNanos(System.nanoTime() - start));
                receivers.stream()
                        .filter(each -> kind != EventKind.MEMORY_HIT || each.wantsMemoryHits)
                        .forEach(each -> each.add(ended));
                if (recorded != null) {
                    kind.commit(recorded, ended);
                }
            } catch (Throwable e) { // an error too: the lookup goes on
                Warnings.warn("events", "An event was lost: " + e);
            }
        }
    }

    /**
     * Delivers the events that wait, for at most {@code limit} altogether. The rest is dropped and
     * counted, and a listener that is still called is interrupted.
     */
    public void close(Duration limit) {
        Deadline deadline = Deadline.after(limit);
        receivers.forEach(each -> each.close(deadline));
    }

    /**
     * A listener with a queue and a thread of its own: one that blocks delays neither lookups nor
     * other listeners.
     */
    private final class Receiver {
        private final GranaryListener listener;
        private final boolean wantsMemoryHits;
        private volatile @Nullable Thread delivering;
        private final TaskQueue events = new TaskQueue("granary-listener", 1, QUEUE_LENGTH);

        Receiver(GranaryListener listener) {
            this.listener = listener;
            boolean isWanted = false;
            try {
                isWanted = listener.wantsMemoryHits();
            } catch (Throwable e) {
                failed(e);
            }
            this.wantsMemoryHits = isWanted;
        }

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

        /** A listener that closes its own Granary gets the rest later. */
        void close(Deadline deadline) {
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
}
