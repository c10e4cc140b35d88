package dev.granary.coordinator.dispatch;

import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.event.WaitEvent;

import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Registered;

import org.jspecify.annotations.Nullable;

/** Flight-recorder event of a wait for another process. */
@Registered
@SuppressWarnings("UnusedVariable") // the flight recorder reads the fields
@Name("granary.Wait")
@Label("Wait")
@Description("A wait for another process of the machine that compiles the same id")
final class RecordedWait extends RecordedEvent {
    @Label("Id")
    @Nullable
    String id;

    @Label("Outcome")
    @Nullable
    String outcome;

    @Override
    void set(GranaryEvent event) {
        if (!(event instanceof WaitEvent wait)) {
            throw wrongKind(event);
        }
        id = wait.id();
        outcome = text(wait.outcome());
    }
}
