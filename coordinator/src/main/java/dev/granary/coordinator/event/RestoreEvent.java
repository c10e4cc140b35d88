package dev.granary.coordinator.event;

import java.time.Duration;
import java.util.Optional;

/**
 * End of the attempt to restore a primitive from a stored entry.
 *
 * @param id the digest of the id in hexadecimal digits
 * @param tier {@code local}, or the name of the layer
 * @param outcome the outcome
 * @param cause the reason of a rejection in one line; empty for other outcomes
 * @param bytes the length of the binaries in bytes
 * @param duration the time in the driver; zero if it was not called
 */
public record RestoreEvent(
        String id,
        String tier,
        Outcome outcome,
        Optional<String> cause,
        long bytes,
        Duration duration)
        implements GranaryEvent {
    /** Outcome of an attempt to restore. */
    public enum Outcome {
        /** The driver accepted the binaries. */
        RESTORED,
        /** The driver accepted the binaries, but compiled again, by its log. */
        RECOMPILED,
        /**
         * The driver rejected the binaries. For binaries without a required kernel this is reported
         * after the compile that replaces them, and not if that fails, too.
         */
        REFUSED,
        /**
         * The binaries are for another device or malformed by their container, and the driver was
         * not called.
         */
        INCOMPATIBLE,
        /** The entry is in quarantine, and the driver was not called. */
        QUARANTINED
    }
}
