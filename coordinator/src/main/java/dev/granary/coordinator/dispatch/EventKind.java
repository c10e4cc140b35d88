package dev.granary.coordinator.dispatch;

/** Kind of an event, known when it begins. */
public enum EventKind {
    LOOKUP,
    LOAD,
    RESTORE,
    WAIT,
    COMPILE,
    STORE,
    UPLOAD,
    EVICTION
}
