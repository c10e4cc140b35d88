package dev.granary.coordinator.dispatch;

import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.event.RestoreEvent;

import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Registered;

import org.jspecify.annotations.Nullable;

/** Flight-recorder event of an attempt to restore a stored entry. */
@Registered
@SuppressWarnings("UnusedVariable") // the flight recorder reads the fields
@Name("granary.Restore")
@Label("Restore")
@Description("An attempt to restore a primitive from a stored entry")
final class RecordedRestore extends RecordedEntryEvent {
    @Label("Tier")
    @Nullable
    String tier;

    @Override
    void set(GranaryEvent event) {
        if (!(event instanceof RestoreEvent restore)) {
            throw wrongKind(event);
        }
        tier = restore.tier();
        setEntry(restore.id(), text(restore.outcome()), text(restore.cause()), restore.bytes());
    }
}
