package dev.granary.benchmarks.bucket.fleet;

/** A token bucket: the requests that S3 grants below one prefix. Times must not decrease. */
final class TokenBucket {
    /** The GET requests per second that Amazon publishes for a prefix. */
    static final int PER_SECOND = 5500;

    private final double perMicro;
    private final double capacity;
    private double tokens;
    private long lastMicros;

    /**
     * Creates a token bucket that grants the requests of a second at once, and then as many per
     * second.
     */
    TokenBucket(int perSecond) {
        this.perMicro = perSecond / 1e6;
        this.capacity = perSecond;
        this.tokens = perSecond;
    }

    /** Returns true if a request at that time is granted. */
    boolean grants(long micros) {
        tokens = Math.min(capacity, tokens + (micros - lastMicros) * perMicro);
        lastMicros = micros;
        if (tokens < 1) {
            return false;
        }
        tokens--;
        return true;
    }
}
