package dev.granary.coordinator.dispatch;

import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.event.StoreEvent;

import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Registered;

import org.jspecify.annotations.Nullable;

/** Flight-recorder event of a store in the local tier. */
@Registered
@SuppressWarnings("UnusedVariable") // the flight recorder reads the fields
@Name("granary.Store")
@Label("Store")
@Description("A store in the local tier")
final class RecordedStore extends RecordedEvent {
    @Label("Id")
    @Nullable
    String id;

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
        if (!(event instanceof StoreEvent store)) {
            throw wrongKind(event);
        }
        id = store.id();
        outcome = text(store.result());
        cause = cause(store.result());
        bytes = store.bytes();
    }
}
