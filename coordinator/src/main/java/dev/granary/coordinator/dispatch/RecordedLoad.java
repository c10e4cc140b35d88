package dev.granary.coordinator.dispatch;

import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.event.LoadEvent;

import jdk.jfr.DataAmount;
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
final class RecordedLoad extends RecordedEvent {
    @Label("Id")
    @Nullable
    String id;

    @Label("Tier")
    @Nullable
    String tier;

    @Label("Outcome")
    @Nullable
    String outcome;

    @Label("Cause")
    @Nullable
    String cause;

    @Label("Bytes")
    @DataAmount
    long bytes;

    @Override
    void set(GranaryEvent event) {
        if (!(event instanceof LoadEvent load)) {
            throw wrongKind(event);
        }
        id = load.id();
        tier = load.tier();
        outcome = text(load.outcome());
        cause = text(load.cause());
        bytes = load.bytes();
    }
}
