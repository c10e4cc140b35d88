package dev.granary.s3.probe;

/** Probed support of conditional deletions. */
public enum ConditionalDeleteSupport {
    /** A stale version is not deleted. */
    HONOURED,
    /** The condition is refused or ignored; if ignored, any version is deleted. */
    NOT_HONOURED,
    /** Not probed, or without a response. */
    UNTESTED
}
