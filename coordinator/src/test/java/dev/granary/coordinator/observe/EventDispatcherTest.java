package dev.granary.coordinator.observe;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.coordinator.event.GranaryEvent;

import jdk.jfr.Recording;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;

/** Tests of the dispatch of events with and without observers. */
class EventDispatcherTest {
    private static final EventDispatcher NO_LISTENERS =
            new EventDispatcher(List.of(), new Counters());

    @ParameterizedTest
    @EnumSource
    @DisplayName("without listener and recording, no event of any kind is made or measured")
    void unobserved(EventKind kind) {
        AtomicInteger made = new AtomicInteger();
        NO_LISTENERS.begin(kind).end(took -> {
            made.incrementAndGet();
            return new GranaryEvent.Eviction("local", 0, 0, took);
        });
        assertEquals(0, made.get());
        assertFalse(NO_LISTENERS.observesMemoryHits());
    }

    @Test
    @DisplayName("a recording observes the kinds that it enables, and no others")
    void recorded() {
        try (Recording recording = new Recording()) {
            for (EventKind kind : EventKind.values()) {
                recording.disable(name(kind));
            }
            recording.enable(name(EventKind.EVICTION)).withoutThreshold();
            recording.start();
            assertTrue(NO_LISTENERS.begin(EventKind.EVICTION).isObserved());
            assertFalse(NO_LISTENERS.begin(EventKind.LOAD).isObserved());
        }
        assertFalse(NO_LISTENERS.begin(EventKind.EVICTION).isObserved());
    }

    private static String name(EventKind kind) {
        String lower = kind.name().toLowerCase(Locale.ROOT);
        return "granary." + Character.toUpperCase(lower.charAt(0)) + lower.substring(1);
    }

    @Test
    @DisplayName("A listener receives each event once, with the time between begin and end")
    void listener() {
        List<GranaryEvent> received = new ArrayList<>();
        EventDispatcher dispatcher = new EventDispatcher(List.of(received::add), new Counters());
        EventDispatcher.Span span = dispatcher.begin(EventKind.EVICTION);
        span.end(took -> new GranaryEvent.Eviction("local", 1, 2, took));
        dispatcher.close(Duration.ofMinutes(1));
        assertEquals(1, received.size());
        assertTrue(received.getFirst().duration().compareTo(Duration.ZERO) >= 0);
    }
}
