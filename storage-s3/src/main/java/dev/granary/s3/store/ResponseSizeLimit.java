package dev.granary.s3.store;

import java.io.IOException;

/**
 * How long an answer may be that is no object: client libraries read errors and pages of listings into memory whole, however long they are.
 * For one answer.
 */
public final class ResponseSizeLimit {
    /** Of an error, in bytes; S3's have a few hundred. */
    static final int ERROR_BYTES = 256 << 10;

    /**
     * Of anything else, in bytes: a page of a thousand keys of the greatest length, 1024 bytes, has three quarters of it. Client libraries need some
     * twenty times as much while they read it.
     */
    static final int PAGE_BYTES = 2 << 20;

    private final int limit;
    private long read;

    private ResponseSizeLimit(int limit) {
        this.limit = limit;
    }

    /** For an answer of that HTTP status. */
    public static ResponseSizeLimit ofStatus(int status) {
        return new ResponseSizeLimit(status >= 300 ? ERROR_BYTES : PAGE_BYTES);
    }

    /**
     * Notes so many bytes that have come; a negative number is the end.
     *
     * @throws IOException if they are too many
     */
    public void add(long bytes) throws IOException {
        read += Math.max(0, bytes);
        if (read > limit) {
            throw new IOException("The server's answer is longer than " + limit + " bytes");
        }
    }
}
