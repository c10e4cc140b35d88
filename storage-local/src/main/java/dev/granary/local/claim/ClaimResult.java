package dev.granary.local.claim;

/** The outcome of {@link LocalClaims#claim}. */
public sealed interface ClaimResult {
    /**
     * The claim is the caller's, until it is closed or the process ends, however it ends. Thread-safe: any thread may call any method.
     * Not sealed, so that users can be tested without files.
     */
    non-sealed interface Mine extends ClaimResult, AutoCloseable {
        /** Tells the others that the compiler is done, and that the rest comes with the first launch, whenever that is. */
        void awaitLaunch();

        /** Lets go. Further calls do nothing. */
        @Override
        void close();
    }

    /**
     * Another process, or another thread of this one, has the claim.
     *
     * @param stage how far it is
     */
    record Taken(Stage stage) implements ClaimResult {}

    /**
     * Claims do not work here: read-only directory, no locks, an error. The caller goes on without one.
     *
     * @param reason why, for people
     */
    record Unavailable(String reason) implements ClaimResult {}

    /** How far the holder of a claim is. */
    enum Stage {
        /** It is at it. */
        UNDER_WAY,
        /** It has compiled, and the binaries are whole only after the first launch. */
        AWAITING_LAUNCH
    }
}
