package dev.granary.coordinator.event;

import java.time.Duration;
import java.util.Optional;

/**
 * End of a lookup in one tier. A lookup that searches the local tier repeatedly, while another
 * process compiles, counts once.
 *
 * @param id the digest of the id in hexadecimal digits
 * @param tier {@code local}, or the name of the layer
 * @param outcome hit, or the kind of miss
 * @param cause the reason of a miss in one line; empty for a hit and an absent entry
 * @param bytes the length of the binaries in bytes; 0 without a hit
 * @param duration the time spent in the tier, without waits for other processes
 */
public record LoadEvent(
        String id,
        String tier,
        Outcome outcome,
        Optional<String> cause,
        long bytes,
        Duration duration)
        implements GranaryEvent {
    /** Outcome of a lookup in one tier. */
    public enum Outcome {
        /** A verified entry. */
        HIT,
        /** The tier has no such entry. */
        ABSENT,
        /** The stored bytes failed a check. */
        DAMAGED,
        /** The tier gave no answer in time, refused or failed. */
        UNAVAILABLE,
        /** The tier was not searched, because its time budget is used up. */
        SKIPPED
    }
}
