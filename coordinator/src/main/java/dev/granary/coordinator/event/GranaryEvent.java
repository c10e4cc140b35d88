package dev.granary.coordinator.event;

import java.time.Duration;

/**
 * Event of one Granary. Immutable, and small: it names an entry by its digest, and holds none of
 * its binaries.
 */
public sealed interface GranaryEvent
        permits LookupEvent,
                LoadEvent,
                RestoreEvent,
                WaitEvent,
                CompileEvent,
                StoreEvent,
                UploadEvent,
                EvictionEvent {
    /** Returns the time that the reported work took. */
    Duration duration();
}
