package dev.granary.coordinator.dispatch;

import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.event.StoreEvent;

import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Registered;

/** Flight-recorder event of a store in the local tier. */
@Registered
@Name("granary.Store")
@Label("Store")
@Description("A store in the local tier")
final class RecordedStore extends RecordedEntryEvent {
    @Override
    void set(GranaryEvent event) {
        if (!(event instanceof StoreEvent store)) {
            throw wrongKind(event);
        }
        setEntry(store.id(), text(store.result()), cause(store.result()), store.bytes());
    }
}
