package dev.granary.s3.store;

import java.lang.foreign.MemorySegment;

/** Result of reading an object or a range of it. */
public sealed interface GetResult {
    /**
     * All bytes that the server sent; they belong to the caller.
     *
     * @param bytes the bytes, on the heap
     * @param etag the version, unquoted; empty if the server sent none
     * @param dates write time of the object and time of the response, by the server's clock
     */
    record Found(MemorySegment bytes, String etag, ServerTimestamps dates) implements GetResult {
        /** Creates the result of a server that sends no dates. */
        public Found(MemorySegment bytes, String etag) {
            this(bytes, etag, ServerTimestamps.NONE);
        }
    }

    /**
     * The object does not exist.
     *
     * @param serverMillis time of the response by the server's clock, in milliseconds since 1970; 0
     *     if unknown
     */
    record Absent(long serverMillis) implements GetResult {}

    /**
     * The object is longer than the limit; nothing of it was kept.
     *
     * @param limit the limit, in bytes
     */
    record TooLarge(long limit) implements GetResult {}

    /**
     * The read failed.
     *
     * @param failure the cause
     */
    record Unavailable(StoreFailure failure) implements GetResult {}

    /** An {@link Absent} without a time. */
    GetResult ABSENT = new Absent(0);
}
