package dev.granary.coordinator.dispatch;

import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.event.LookupEvent;

import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Registered;
import jdk.jfr.StackTrace;

import org.jspecify.annotations.Nullable;

/**
 * Flight-recorder event of a hit in memory. Programs look up at each launch, hence disabled by
 * default.
 */
@Registered
@SuppressWarnings("UnusedVariable") // the flight recorder reads the fields
@Name("granary.MemoryHit")
@Label("Memory Hit")
@Description("A lookup of a program that was in memory")
@Enabled(false)
@StackTrace
final class RecordedMemoryHit extends RecordedEvent {
    /** An instance that is never committed: it has the state of all. */
    private static final RecordedMemoryHit STATE = new RecordedMemoryHit();

    @Label("Id")
    @Nullable
    String id;

    @Label("Target")
    @Nullable
    String target;

    static boolean isRecorded() {
        return STATE.isEnabled();
    }

    @Override
    void set(GranaryEvent event) {
        if (!(event instanceof LookupEvent lookup)) {
            throw wrongKind(event);
        }
        id = lookup.id();
        target = path(lookup.target());
    }
}
