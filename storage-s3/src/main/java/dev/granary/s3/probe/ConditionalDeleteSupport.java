package dev.granary.s3.probe;

/** Whether a server keeps the condition on a deletion, as found by trying. */
public enum ConditionalDeleteSupport {
    /** A stale version is not deleted. */
    HONOURED,
    /** Refused, or ignored: then whatever is there is deleted. */
    NOT_HONOURED,
    /** Not tried, or without an answer. */
    UNTESTED
}
