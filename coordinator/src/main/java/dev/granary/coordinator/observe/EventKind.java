package dev.granary.coordinator.observe;

import dev.granary.coordinator.event.GranaryEvent;

/** Kind of an event, known when it begins. */
public enum EventKind {
    LOOKUP(GranaryEvent.Lookup.class, "A lookup of a program that was not in memory", true),
    // programs look up at each launch, hence disabled by default
    MEMORY_HIT(GranaryEvent.Lookup.class, "A lookup of a program that was in memory", true),
    LOAD(GranaryEvent.Load.class, "A lookup in the local tier or in a layer", false),
    RESTORE(
            GranaryEvent.Restore.class,
            "An attempt to restore a primitive from a stored entry",
            false),
    WAIT(
            GranaryEvent.Wait.class,
            "A wait for another process of the machine that compiles the same id",
            false),
    COMPILE(GranaryEvent.Compile.class, "A compile by a lookup", true),
    STORE(GranaryEvent.Store.class, "A store in the local tier", false),
    UPLOAD(GranaryEvent.Upload.class, "A store in a layer", false),
    EVICTION(
            GranaryEvent.Eviction.class,
            "An eviction from the local directory or from memory by this process",
            false);

    private final FlightEvents recorded;

    EventKind(Class<? extends GranaryEvent> type, String description, boolean hasStackTrace) {
        boolean isMemoryHit = name().equals("MEMORY_HIT");
        this.recorded = new FlightEvents(
                type,
                isMemoryHit ? "MemoryHit" : type.getSimpleName(),
                description,
                hasStackTrace,
                !isMemoryHit);
    }

    /** Returns the events of this kind in the flight recorder. */
    FlightEvents recorded() {
        return recorded;
    }
}
