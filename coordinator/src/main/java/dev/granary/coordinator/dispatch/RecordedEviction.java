package dev.granary.coordinator.dispatch;

import dev.granary.coordinator.event.EvictionEvent;
import dev.granary.coordinator.event.GranaryEvent;

import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Registered;

import org.jspecify.annotations.Nullable;

/** Flight-recorder event of an eviction from the local directory or the memory tier. */
@Registered
@SuppressWarnings("UnusedVariable") // the flight recorder reads the fields
@Name("granary.Eviction")
@Label("Eviction")
@Description("An eviction from the local directory or from memory by this process")
final class RecordedEviction extends RecordedEvent {
    @Label("Tier")
    @Nullable
    String tier;

    @Label("Entries")
    long entries;

    @Label("Bytes")
    @DataAmount
    long bytes;

    @Override
    void set(GranaryEvent event) {
        if (!(event instanceof EvictionEvent eviction)) {
            throw wrongKind(event);
        }
        tier = eviction.tier();
        entries = eviction.entries();
        bytes = eviction.bytes();
    }
}
