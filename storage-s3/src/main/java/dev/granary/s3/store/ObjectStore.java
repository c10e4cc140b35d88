package dev.granary.s3.store;

import java.util.Optional;
import java.util.function.Consumer;

/**
 * Object operations on one bucket. Two transports implement it; implementations must pass
 * {@code ObjectStoreContract} in this module's test jar.
 *
 * <p><b>Guarantees.</b>
 *
 * <ul>
 *   <li>A write becomes visible at once and as a whole. After {@link WriteResult.Done} every new
 *       read sees it, or a later write.
 *   <li>Of any number of {@link #putIfAbsent} on one absent key, concurrent or successive, at most
 *       one returns {@code Done}, and the object has its body. The same holds for
 *       {@link #replaceIfMatch} on one version.
 *   <li>Each call sends at most one request, {@link #list} one for each page. No implementation
 *       retries: only the caller knows whether it may.
 *   <li>Failures of the server are results; only programming errors throw exceptions.
 *   <li>Each request ends within the deadline of the connection.
 *   <li>A read allocates memory only for received bytes, rounded up; a declared length is only a
 *       hint.
 * </ul>
 *
 * <p><b>Not guaranteed.</b> A server may not support conditions. Conditional writes then return
 * {@link WriteResult.NotAllowed}, or {@code Done} if the server ignores the condition. A probe
 * determines what a server supports.
 *
 * <p><b>Keys</b> are ASCII: letters, digits, and {@code / . - _}; at most 1024 bytes. No key
 * continues another after a slash. <b>ETags</b> are unquoted everywhere. <b>Thread safety.</b> All
 * methods may be called concurrently.
 */
public interface ObjectStore extends AutoCloseable {
    /**
     * One object in a listing.
     *
     * @param key the full key
     * @param bytes its length; 0 if the server does not report it
     * @param etag its version, unquoted
     * @param lastModifiedMillis its write time by the server's clock, in milliseconds since 1970
     */
    record Listed(String key, long bytes, String etag, long lastModifiedMillis) {}

    /**
     * Does what the first request would wait for, such as obtaining credentials, and sends nothing
     * to the bucket.
     *
     * @throws RuntimeException if no request could be sent; the message states the remedy
     */
    default void prepare() {}

    /**
     * Returns the time within which a request may still be sent, in nanoseconds; 0 if none may.
     * Other waits of its caller must not exceed it.
     */
    default long remainingNanos() {
        return Long.MAX_VALUE;
    }

    /** Reads an object of at most {@code limit} bytes. */
    GetResult get(String key, long limit);

    /**
     * Reads an object of at most {@code limit} bytes, unless it is that version
     * ({@code If-None-Match}). A server that ignores the condition sends the object.
     *
     * @return empty if the object has not changed
     */
    default Optional<GetResult> getIfChanged(String key, String etag, long limit) {
        GetResult read = get(key, limit);
        return read instanceof GetResult.Found found && found.etag().equals(etag)
                ? Optional.empty()
                : Optional.of(read);
    }

    /**
     * Reads {@code length} bytes from {@code offset}, counted from 0, to the start of {@code into};
     * fewer if the object ends early.
     *
     * @param length at least 1, at most the length of {@code into}
     * @param into memory of the caller; the bytes of {@link GetResult.Found} are a slice of it
     */
    GetResult range(String key, long offset, int length, byte[] into);

    /**
     * As {@link #range(String, long, int, byte[])}, to new memory; transports allocate it for
     * received bytes, as {@link #get} does.
     */
    default GetResult range(String key, long offset, int length) {
        return range(key, offset, length, new byte[length]);
    }

    /** Reads the metadata of an object. */
    HeadResult head(String key);

    /**
     * Writes an object unconditionally: for servers without conditions, and for objects that any
     * writer may overwrite. Never returns {@link WriteResult.PreconditionFailed}.
     */
    WriteResult put(String key, byte[] body);

    /** Creates an object if it is absent ({@code If-None-Match: *}). */
    WriteResult putIfAbsent(String key, byte[] body);

    /**
     * Replaces this version of an object ({@code If-Match}). An absent object is a failed
     * precondition.
     */
    WriteResult replaceIfMatch(String key, String etag, byte[] body);

    /** Deletes this version of an object ({@code If-Match}). Some servers delete any version. */
    WriteResult deleteIfMatch(String key, String etag);

    /** Deletes an object; also done if it was absent. */
    WriteResult delete(String key);

    /**
     * Passes every object whose key begins with {@code prefix} to {@code visitor}, in the order of
     * keys. At most one page is in memory. Objects with another key, or without one, are skipped.
     * The transport limits the listing as a whole.
     *
     * @param visitor called by the calling thread; its exceptions end the listing and propagate
     */
    ListResult list(String prefix, Consumer<Listed> visitor);

    /** Closes the connections; has no effect if already closed. */
    @Override
    void close();
}
