package dev.granary.coordinator.dispatch;

import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.event.LookupEvent;

import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Registered;
import jdk.jfr.StackTrace;

import org.jspecify.annotations.Nullable;

/** Flight-recorder event of a lookup below the memory tier. */
@Registered
@SuppressWarnings("UnusedVariable") // the flight recorder reads the fields
@Name("granary.Lookup")
@Label("Lookup")
@Description("A lookup of a program that was not in memory")
@StackTrace
final class RecordedLookup extends RecordedEvent {
    @Label("Id")
    @Nullable
    String id;

    @Label("Target")
    @Nullable
    String target;

    @Label("Source")
    @Description("local, bucket or compiled; empty if the lookup failed")
    @Nullable
    String source;

    @Label("Layer")
    @Nullable
    String layer;

    @Label("Bytes")
    @DataAmount
    long bytes;

    @Override
    void set(GranaryEvent event) {
        if (!(event instanceof LookupEvent lookup)) {
            throw wrongKind(event);
        }
        id = lookup.id();
        target = path(lookup.target());
        source = text(lookup.source().map(RecordedEvent::text));
        layer = text(lookup.layer());
        bytes = lookup.bytes();
    }
}
