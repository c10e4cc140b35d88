package dev.granary.coordinator.dispatch;

import jdk.jfr.DataAmount;
import jdk.jfr.Label;
import jdk.jfr.Registered;

import org.jspecify.annotations.Nullable;

/** Flight-recorder event of one attempt to read, restore or store an entry, with its outcome. */
@Registered(false)
@SuppressWarnings("UnusedVariable") // the flight recorder reads the fields
abstract class RecordedEntryEvent extends RecordedEvent {
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

    /** Sets the fields that all these events have; {@code failureCause} is null without failure. */
    final void setEntry(
            String entryId, String result, @Nullable String failureCause, long entryBytes) {
        id = entryId;
        outcome = result;
        cause = failureCause;
        bytes = entryBytes;
    }
}
