package dev.granary.s3.transport;

import dev.granary.s3.store.TrafficCounter;

import java.io.IOException;

/**
 * Limit of the size of one response that is not an object: client libraries buffer errors and
 * listing pages of any size. Also counts the bytes of all responses.
 */
public final class ResponseSizeLimit {
    /** Limit of an error, in bytes; those of S3 have a few hundred. */
    static final int ERROR_BYTES = 256 << 10;

    /**
     * Limit of other responses, in bytes: a page of 1,000 keys of the maximum length, 1024 bytes,
     * has three quarters of it. Client libraries take about 20 times as much while they parse it.
     */
    static final int PAGE_BYTES = 2 << 20;

    private final long limit;
    private final TrafficCounter traffic;
    private long read;

    /** Creates the limit for a response with this HTTP status. */
    public ResponseSizeLimit(int status, boolean isObject, TrafficCounter traffic) {
        this.limit = isObject ? Long.MAX_VALUE : status >= 300 ? ERROR_BYTES : PAGE_BYTES;
        this.traffic = traffic;
    }

    /**
     * Adds received bytes; a negative number is the end of the stream.
     *
     * @throws IOException if the limit is exceeded
     */
    public void add(long bytes) throws IOException {
        traffic.received(Math.max(0, bytes));
        read += Math.max(0, bytes);
        if (read > limit) {
            throw new IOException("The server's response is longer than " + limit + " bytes");
        }
    }
}
