package dev.granary.s3.store;

/** The outcome of asking for an object without its bytes. */
public sealed interface HeadResult {
    /**
     * There is such an object.
     *
     * @param bytes its length
     * @param etag its version, unquoted
     * @param dates when it was written and when the answer was, by the server's clock
     * @param marks the user metadata
     */
    record Found(long bytes, String etag, ServerTimestamps dates, ObjectMarks marks) implements HeadResult {}

    /** There is no such object. Some servers say the same of a missing bucket, to this request only. */
    record Absent() implements HeadResult {}

    /**
     * The store could not say.
     *
     * @param failure why
     */
    record Unavailable(StoreFailure failure) implements HeadResult {}

    /** The one {@link Absent}. */
    HeadResult ABSENT = new Absent();
}
