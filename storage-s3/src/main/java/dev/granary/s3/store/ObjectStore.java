package dev.granary.s3.store;

import java.util.function.Consumer;

/**
 * What Granary needs of one bucket. Two transports implement it; {@code ObjectStoreContract} in this module's test jar is the suite that an
 * implementation must pass.
 *
 * <p><b>What must hold.</b>
 * <ul>
 *   <li>A write becomes visible at once and as a whole. After {@link WriteResult.Done} every read that begins sees it, or a later write.
 *   <li>Of any number of {@link #putIfAbsent} on one key that had no object, at once or one after the other, at most one ends in
 *       {@code Done}, and the object is that one's body. Of any number of {@link #replaceIfMatch} on one version, the same.
 *   <li>Each call sends at most one request ({@link #list}: one for each page). No implementation sends a request again by itself: only
 *       the caller knows whether it may.
 *   <li>No method throws because of what the server does or does not do: that is a result. Only a programming error throws.
 *   <li>No method waits without bound: each request ends within the deadline that the connection was given.
 *   <li>A read never allocates more than the bytes that came, rounded up; a length that the server tells is only a hint.
 * </ul>
 *
 * <p><b>What is not promised.</b> A server may lack conditions: then they end in {@link WriteResult.NotAllowed}, or, with a server that
 * ignores what it does not know, in {@code Done}. Whether a server keeps its word, a probe finds out.
 *
 * <p><b>Keys</b> are ASCII: letters, digits, and {@code / . - _}; at most 1024 bytes. No key continues another after a slash.
 * <b>ETags</b> are unquoted everywhere. <b>Threads.</b> All methods may be called by any number of threads at once.
 */
public interface ObjectStore extends AutoCloseable {
    /**
     * One object in a listing.
     *
     * @param key the whole key
     * @param bytes its length
     * @param etag its version, unquoted
     * @param lastModifiedMillis when it was written, in milliseconds since 1970, by the server's clock
     */
    record Listed(String key, long bytes, String etag, long lastModifiedMillis) {}

    /** Reads an object that has at most {@code limit} bytes. */
    GetResult get(String key, long limit);

    /**
     * Reads {@code length} bytes from {@code offset}, counted from 0, into the beginning of {@code into}; fewer where the object ends before.
     *
     * @param length at least 1, at most the length of {@code into}
     * @param into memory of the caller; the bytes of a {@link GetResult.Found} are a part of it
     */
    GetResult range(String key, long offset, int length, byte[] into);

    /** As {@link #range(String, long, int, byte[])}, into memory of its own; a transport takes it in step with what comes, as {@link #get} does. */
    default GetResult range(String key, long offset, int length) {
        return range(key, offset, length, new byte[length]);
    }

    /** Asks for an object without its bytes. */
    HeadResult head(String key);

    /**
     * Writes an object, whatever is there: for servers without conditions, and for what is worth nothing.
     * {@link WriteResult.PreconditionFailed} is no answer to it.
     */
    WriteResult put(String key, byte[] body, ObjectMarks marks);

    /** Creates an object where there is none ({@code If-None-Match: *}). */
    WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks);

    /** Replaces that version of an object ({@code If-Match}). An absent object is a failed precondition. */
    WriteResult replaceIfMatch(String key, String etag, byte[] body, ObjectMarks marks);

    /** Deletes that version of an object ({@code If-Match}). Servers are known that delete any version. */
    WriteResult deleteIfMatch(String key, String etag);

    /** Deletes an object; done as well where there was none. */
    WriteResult delete(String key);

    /**
     * Hands every object whose key begins with {@code prefix} to {@code visitor}, in the order of keys, page by page: no more than a page is in memory.
     * Objects without such a key, or without a key, are left out. {@link ListingGuard} bounds the listing as a whole.
     *
     * @param visitor called by the calling thread; what it throws ends the listing and is passed on
     */
    ListResult list(String prefix, Consumer<Listed> visitor);

    /** Frees connections. Further calls of {@code close} do nothing. */
    @Override
    void close();
}
