package dev.granary.coordinator.dispatch;

import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.event.UploadEvent;

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
final class RecordedUpload extends RecordedEntryEvent {
    @Label("Layer")
    @Nullable
    String layer;

    @Override
    void set(GranaryEvent event) {
        if (!(event instanceof UploadEvent upload)) {
            throw wrongKind(event);
        }
        layer = upload.layer();
        setEntry(upload.id(), text(upload.result()), cause(upload.result()), upload.bytes());
    }
}
