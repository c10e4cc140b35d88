package dev.granary.coordinator.dispatch;

import dev.granary.cache.EvictionListener;
import dev.granary.cache.Id;
import dev.granary.cache.Primitive;
import dev.granary.cache.support.LogOnce;
import dev.granary.coordinator.event.EvictionEvent;
import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.event.GranaryListener;
import dev.granary.coordinator.event.LookupEvent;
import dev.granary.coordinator.statistics.LookupCounter;
import dev.granary.coordinator.statistics.LookupCounters;
import dev.granary.coordinator.statistics.PrimitiveSource;

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
            new EventDispatcher(List.of(), new LookupCounters());

    private final List<ListenerQueue> queues;
    private final boolean hasListeners;
    private final boolean areMemoryHitsWanted;

    /** Creates a dispatcher. Dropped events are counted in {@code counters}. */
    public EventDispatcher(List<GranaryListener> listeners, LookupCounters counters) {
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

    /** Begins an event. */
    public EventSpan begin(EventKind kind) {
        RecordedEvent recorded = beginRecorded(kind);
        return hasListeners || recorded != null
                ? new EventSpan(this, recorded)
                : EventSpan.UNOBSERVED;
    }

    private static @Nullable RecordedEvent beginRecorded(EventKind kind) {
        try {
            return RecordedEvent.begin(kind);
        } catch (LinkageError e) { // the JVM changes event classes while they are loaded
            LogOnce.warn("events", "An event was lost: " + e);
            return null;
        }
    }

    /** Begins an eviction from {@code tier}; its end adds the evicted entries to a counter. */
    public EvictionListener.Eviction beginEviction(
            String tier, LookupCounters counters, LookupCounter counter) {
        EventSpan span = begin(EventKind.EVICTION);
        return (entries, bytes) -> {
            counters.add(counter, entries);
            span.end(took -> new EvictionEvent(tier, entries, bytes, took));
        };
    }

    /** Returns true if hits in memory have an observer. */
    public boolean observesMemoryHits() {
        return areMemoryHitsWanted || RecordedMemoryHit.isRecorded();
    }

    /** Dispatches the event of a hit in memory that took {@code nanos} nanoseconds. */
    public void memoryHit(Primitive primitive, long nanos) {
        try {
            // the cached descriptor has its id; that of the caller may have to compute it
            LookupEvent event = new LookupEvent(
                    digest(primitive.descriptor().getId()),
                    primitive.descriptor().target(),
                    Optional.of(PrimitiveSource.MEMORY),
                    Optional.empty(),
                    0,
                    Duration.ofNanos(nanos));
            for (ListenerQueue queue : queues) {
                if (queue.wantsMemoryHits()) {
                    queue.add(event);
                }
            }
            new RecordedMemoryHit().commit(event);
        } catch (Throwable e) { // an error too: the caller has its primitive
            LogOnce.warn("events", "An event was lost: " + e);
        }
    }

    void dispatch(GranaryEvent event, @Nullable RecordedEvent recorded) {
        queues.forEach(queue -> queue.add(event));
        if (recorded != null) {
            recorded.commit(event);
        }
    }

    /** Delivers the events that wait, for at most {@code limit} altogether. */
    public void close(Duration limit) {
        long start = System.nanoTime();
        queues.forEach(
                queue -> queue.close(Math.max(0, limit.toNanos() - (System.nanoTime() - start))));
    }
}
