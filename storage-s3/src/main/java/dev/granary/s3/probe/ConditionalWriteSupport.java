package dev.granary.s3.probe;

/** Probed support of conditional writes, from most to least. */
public enum ConditionalWriteSupport {
    /** Create if absent and replace a version, both exact with concurrent writers. */
    FULL,
    /** Create if absent only. */
    CREATE_ONLY,
    /** Neither: the server refuses or ignores the conditions, or lets several writers win. */
    NONE
}
