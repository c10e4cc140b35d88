package dev.granary.coordinator.event;

import java.time.Duration;

/**
 * End of a wait for another process of the machine that compiles or fetches the same id.
 *
 * @param id the digest of the id in hexadecimal digits
 * @param outcome the outcome
 * @param duration the time waited; close to zero if the wait budget was used up
 */
public record WaitEvent(String id, Outcome outcome, Duration duration) implements GranaryEvent {
    /** Outcome of a wait. */
    public enum Outcome {
        /** The other process has stored the entry. */
        STORED,
        /** The other process has ended without an entry, and this one has the claim. */
        CLAIMED,
        /** The wait took too long, or was interrupted. */
        GIVEN_UP
    }
}
