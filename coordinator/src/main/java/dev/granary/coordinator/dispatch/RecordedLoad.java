package dev.granary.coordinator.dispatch;

import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.event.LoadEvent;

import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Registered;

import org.jspecify.annotations.Nullable;

/** Flight-recorder event of a lookup in one tier. */
@Registered
@SuppressWarnings("UnusedVariable") // the flight recorder reads the fields
@Name("granary.Load")
@Label("Load")
@Description("A lookup in the local tier or in a layer")
final class RecordedLoad extends RecordedEntryEvent {
    @Label("Tier")
    @Nullable
    String tier;

    @Override
    void set(GranaryEvent event) {
        if (!(event instanceof LoadEvent load)) {
            throw wrongKind(event);
        }
        tier = load.tier();
        setEntry(load.id(), text(load.outcome()), text(load.cause()), load.bytes());
    }
}
