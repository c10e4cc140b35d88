package dev.granary.benchmarks.bucket;

/** A token bucket: what S3 grants the requests below one prefix. Time only goes on. */
final class TokenBucket {
    /** The GET requests per second that Amazon publishes for a prefix. */
    static final int PER_SECOND = 5500;

    private final double perMicro;
    private final double capacity;
    private double tokens;
    private long lastMicros;

    /** One that grants a second's requests at once, and then as many per second. */
    TokenBucket(int perSecond) {
        this.perMicro = perSecond / 1e6;
        this.capacity = perSecond;
        this.tokens = perSecond;
    }

    /** True where a request at that time is granted. */
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
