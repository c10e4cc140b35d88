package dev.granary.s3.store;

/** Result of reading the metadata of an object. */
public sealed interface HeadResult {
    /**
     * The object exists.
     *
     * @param bytes its length; a response without one is {@link Unavailable}
     * @param etag its version, unquoted
     * @param dates write time of the object and time of the response, by the server's clock
     */
    record Found(long bytes, String etag, ServerTimestamps dates) implements HeadResult {}

    /**
     * The object does not exist. Some servers report a missing bucket like this, for HEAD requests
     * only.
     */
    record Absent() implements HeadResult {}

    /**
     * The read failed.
     *
     * @param failure the cause
     */
    record Unavailable(StoreFailure failure) implements HeadResult {}

    /** The only {@link Absent}. */
    HeadResult ABSENT = new Absent();
}
