package dev.granary.local;

/** Outcome of {@link LocalClaims#claim}. */
public sealed interface ClaimResult {
    /**
     * The caller holds the claim until it is closed or the process ends in any way. Thread-safe:
     * any thread may call any method. Not sealed, so that users can be tested without files.
     */
    non-sealed interface Mine extends ClaimResult, AutoCloseable {
        /** Releases the claim. Further calls do nothing. */
        @Override
        void close();
    }

    /** Another process, or another thread of this one, holds the claim. */
    record Taken() implements ClaimResult {}

    /**
     * Claims are unavailable: a read-only directory, no locks, an error. The caller continues
     * without one.
     *
     * @param reason the reason, as text
     */
    record Unavailable(String reason) implements ClaimResult {}
}
