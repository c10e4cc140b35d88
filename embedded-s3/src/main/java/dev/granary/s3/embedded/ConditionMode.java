package dev.granary.s3.embedded;

/**
 * Handling of conditional PUT requests by the embedded server; each mode occurs in real servers.
 */
public enum ConditionMode {
    /** A condition and its write are atomic, as in S3; the default. */
    KEPT,
    /**
     * The write is done whatever the condition says. Only the replacement of an absent object still
     * fails.
     */
    IGNORED,
    /**
     * The condition is checked some time before the write: several of concurrent writers may win.
     */
    RACY
}
