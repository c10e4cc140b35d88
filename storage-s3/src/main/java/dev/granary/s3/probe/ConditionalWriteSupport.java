package dev.granary.s3.probe;

/** Which conditions on writes a server keeps, as found by trying. From most to least. */
public enum ConditionalWriteSupport {
    /** Create if absent and replace a version: each exact, with many writers at once. */
    FULL,
    /** Create if absent only. */
    CREATE_ONLY,
    /** Neither: the server refuses them, ignores them, or lets several writers win. */
    NONE
}
