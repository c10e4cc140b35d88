package dev.granary.coordinator.observe;

import dev.granary.cache.support.Warnings;
import dev.granary.coordinator.event.GranaryEvent;

import jdk.jfr.Event;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.function.Function;

/**
 * Time of an event from its begin to its end. Ended at most once; a span that is not ended has no
 * event. Used by one thread at a time.
 */
public final class EventSpan {
    /** The span of events without an observer. */
    static final EventSpan UNOBSERVED = new EventSpan(null, EventKind.LOOKUP, null);

    private final @Nullable EventDispatcher dispatcher;
    private final EventKind kind;
    private final @Nullable Event recorded;
    private final long start;

    EventSpan(@Nullable EventDispatcher dispatcher, EventKind kind, @Nullable Event recorded) {
        this.dispatcher = dispatcher;
        this.kind = kind;
        this.recorded = recorded;
        this.start = dispatcher == null ? 0 : System.nanoTime();
    }

    /** Dispatches the event, if it has an observer. */
    public void end(Function<Duration, GranaryEvent> event) {
        if (dispatcher != null) {
            Duration took = Duration.ofNanos(System.nanoTime() - start);
            try {
                dispatcher.dispatch(kind, event.apply(took), recorded);
            } catch (Throwable e) { // an error too: the lookup goes on
                Warnings.warn("events", "An event was lost: " + e);
            }
        }
    }
}
