package dev.granary.s3.store;

import java.lang.foreign.MemorySegment;

/** The outcome of reading an object or a part of it. */
public sealed interface GetResult {
    /**
     * The bytes, all that the server sent. They belong to the caller.
     *
     * @param bytes the bytes, on the heap
     * @param etag the version, unquoted; empty where the server gave none
     * @param dates when it was written and when the answer was, by the server's clock
     * @param marks the user metadata
     */
    record Found(MemorySegment bytes, String etag, ServerTimestamps dates, ObjectMarks marks) implements GetResult {
        /** The bytes as a server sends them that tells no dates. */
        public Found(MemorySegment bytes, String etag, ObjectMarks marks) {
            this(bytes, etag, ServerTimestamps.NONE, marks);
        }
    }

    /** There is no such object. */
    record Absent() implements GetResult {}

    /**
     * There is one, and it is longer than the caller wanted to read; nothing of it was kept.
     *
     * @param limit what the caller wanted, in bytes
     */
    record TooLarge(long limit) implements GetResult {}

    /**
     * The store could not say.
     *
     * @param failure why
     */
    record Unavailable(StoreFailure failure) implements GetResult {}

    /** The one {@link Absent}. */
    GetResult ABSENT = new Absent();
}
