package dev.granary.coordinator.observe;

import dev.granary.cache.Id;
import dev.granary.cache.Primitive;
import dev.granary.cache.support.EvictionListener;
import dev.granary.cache.support.Warnings;
import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.event.GranaryListener;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.PrimitiveSource;

import jdk.jfr.Event;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Dispatcher of events to the listeners of one Granary and to the flight recorder. For a kind of
 * event without an observer, neither values nor times are taken. Thread-safe.
 */
public final class EventDispatcher {
    /** The dispatcher without listeners. */
    public static final EventDispatcher NO_LISTENERS =
            new EventDispatcher(List.of(), new Counters());

    private final Counters counters;
    private final List<ListenerQueue> queues;
    private final boolean hasListeners;
    private final boolean areMemoryHitsWanted;

    /** Creates a dispatcher. Dropped events are counted in {@code counters}. */
    public EventDispatcher(List<GranaryListener> listeners, Counters counters) {
        this.counters = counters;
        this.queues = listeners.stream()
                .map(listener -> new ListenerQueue(listener, counters))
                .toList();
        this.hasListeners = !queues.isEmpty();
        this.areMemoryHitsWanted = queues.stream().anyMatch(ListenerQueue::wantsMemoryHits);
    }

    /** Returns the digest that events have for {@code id}; empty for the empty id. */
    public static String digest(Id id) {
        return id.isEmpty() ? "" : id.hash().hex();
    }

    public EventSpan begin(EventKind kind) {
        Event recorded = kind.begin();
        return hasListeners || recorded != null
                ? new EventSpan(this, kind, recorded)
                : EventSpan.UNOBSERVED;
    }

    /** Begins an eviction from {@code tier}; its end adds the evicted entries to a counter. */
    public EvictionListener.Eviction beginEviction(String tier, Counter counter) {
        EventSpan span = begin(EventKind.EVICTION);
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
        try {
            // the cached descriptor has its id; that of the caller may have to compute it
            GranaryEvent.Lookup event = new GranaryEvent.Lookup(
                    digest(primitive.descriptor().getId()),
                    primitive.descriptor().target(),
                    Optional.of(source),
                    Optional.empty(),
                    0,
                    Duration.ofNanos(nanos));
            dispatch(EventKind.MEMORY_HIT, event, EventKind.MEMORY_HIT.begin());
        } catch (Throwable e) { // an error too: the caller has its primitive
            Warnings.warn("events", "An event was lost: " + e);
        }
    }

    void dispatch(EventKind kind, GranaryEvent event, @Nullable Event recorded) {
        queues.stream()
                .filter(queue -> kind != EventKind.MEMORY_HIT || queue.wantsMemoryHits())
                .forEach(queue -> queue.add(event));
        if (recorded != null) {
            kind.commit(recorded, event);
        }
    }

    /** Delivers the events that wait, for at most {@code limit} altogether. */
    public void close(Duration limit) {
        long deadline = System.nanoTime() + limit.toNanos();
        queues.forEach(queue -> queue.close(deadline));
    }
}
