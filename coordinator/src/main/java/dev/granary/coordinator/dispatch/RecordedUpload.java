package dev.granary.coordinator.dispatch;

import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.event.UploadEvent;

import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Registered;

import org.jspecify.annotations.Nullable;

/** Flight-recorder event of a store in a layer. */
@Registered
@SuppressWarnings("UnusedVariable") // the flight recorder reads the fields
@Name("granary.Upload")
@Label("Upload")
@Description("A store in a layer")
final class RecordedUpload extends RecordedEvent {
    @Label("Id")
    @Nullable
    String id;

    @Label("Layer")
    @Nullable
    String layer;

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
        if (!(event instanceof UploadEvent upload)) {
            throw wrongKind(event);
        }
        id = upload.id();
        layer = upload.layer();
        outcome = text(upload.result());
        cause = cause(upload.result());
        bytes = upload.bytes();
    }
}
