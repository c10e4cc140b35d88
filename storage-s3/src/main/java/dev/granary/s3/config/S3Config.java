package dev.granary.s3.config;

import dev.granary.s3.store.ConnectionSettings;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;

/** The settings of a bucket tier. Immutable; created by {@link #builder} or {@link #parse}. */
public final class S3Config {
    /** The default limit of one request: 8 s. */
    public static final Duration DEFAULT_REQUEST_TIMEOUT = Duration.ofSeconds(8);

    /** The default limit of all requests of one load: 10 s. */
    public static final Duration DEFAULT_LOAD_DEADLINE = Duration.ofSeconds(10);

    /** 16 MiB in this time are 28 KiB/s, a pack of 64 MiB 110 KiB/s. */
    private static final Duration PACK_REQUEST = Duration.ofMinutes(10);

    private static final Duration PACK_STALL = Duration.ofSeconds(10);

    /** A slow request does not count against a bucket that transfers packs. */
    private static final Duration PACK_SLOW = PACK_REQUEST;

    /**
     * A thousand nodes that warm at once exceed a bucket's capacity: throttled requests are retried
     * after 0.2, 0.4, ... 6.4 s.
     */
    private static final int PACK_ATTEMPTS = 7;

    private static final Duration PACK_RETRY_PAUSE = Duration.ofMillis(200);

    private final S3ConfigBuilder settings; // never changed
    private final ConnectionSettings connection;

    S3Config(S3ConfigBuilder builder) {
        this.settings = builder.copy();
        this.connection = new ConnectionSettings(
                settings.location.bucket(),
                settings.endpoint,
                settings.region,
                settings.credentials,
                settings.maxConnections,
                settings.connectTimeout,
                settings.requestTimeout,
                min(settings.stallTimeout, settings.requestTimeout));
    }

    /**
     * Returns a builder for a bucket.
     *
     * @throws IllegalArgumentException if {@code bucket} is not a valid bucket name
     */
    public static S3ConfigBuilder builder(String bucket) {
        return new S3ConfigBuilder(new S3Location(bucket, ""));
    }

    /**
     * Returns these settings adapted to transfers of packs. Requests of some MiB may take ten
     * minutes, and wait ten more for a connection. Throttled reads are retried more often, since no
     * caller waits for them.
     */
    public S3Config forPacks() {
        S3ConfigBuilder packs = settings.copy();
        packs.requestTimeout = PACK_REQUEST;
        packs.stallTimeout = min(PACK_STALL, settings.stallTimeout.multipliedBy(4));
        packs.loadDeadline = PACK_REQUEST.multipliedBy(2);
        packs.slowCall = PACK_SLOW;
        packs.readAttempts = PACK_ATTEMPTS;
        packs.retryPause = PACK_RETRY_PAUSE;
        return packs.build();
    }

    /** Returns the maximum number of attempts at one read, including the first. */
    public int readAttempts() {
        return settings.readAttempts;
    }

    /** Returns the approximate pause before the first retry; it doubles with each further one. */
    public Duration retryPause() {
        return settings.retryPause;
    }

    /** Returns a builder for a location. */
    public static S3ConfigBuilder builder(S3Location location) {
        return new S3ConfigBuilder(location);
    }

    /**
     * Returns the default settings for {@code s3://bucket/prefix}.
     *
     * @throws IllegalArgumentException if {@code text} has another form; the message states the
     *     right one
     */
    public static S3Config parse(String text) {
        return builder(S3Location.parse(text)).build();
    }

    /** Returns bucket and prefix. */
    public S3Location location() {
        return settings.location;
    }

    /** Returns the client library. */
    public S3ClientLibrary client() {
        return settings.client;
    }

    /** Returns whether entries may be published. */
    public S3Access access() {
        return settings.access;
    }

    /** Returns the connection settings. */
    public ConnectionSettings connection() {
        return connection;
    }

    /** Returns the longest time that a lookup may take. */
    public Duration loadDeadline() {
        return settings.loadDeadline;
    }

    /** Returns the duration from which a request counts as slow for the circuit breaker. */
    public Duration slowCall() {
        return settings.slowCall;
    }

    /** Returns the time for which the circuit breaker stays open. */
    public Duration breakerPause() {
        return settings.breakerPause;
    }

    /** Returns the time for which the absence of an entry is cached; zero disables that. */
    public Duration absentMemory() {
        return settings.absentMemory;
    }

    /**
     * Returns the interval at which the head of a target is compared with the bucket's; zero
     * disables packs.
     */
    public Duration refreshInterval() {
        return settings.refreshInterval;
    }

    /**
     * Returns the directory that caches heads and indexes of packs; empty if each process reads
     * them from the bucket.
     */
    public Optional<Path> packIndexCache() {
        return settings.packIndexCache;
    }

    /**
     * Returns the age at which a lifecycle rule may delete objects; zero disables rewriting of old
     * entries.
     */
    public Duration retention() {
        return settings.retention;
    }

    /** Returns the name of the program that writes to the bucket, for its marker. */
    public String producer() {
        return settings.producer;
    }

    @Override
    public String toString() {
        return settings.location
                + connection.endpoint().map(endpoint -> " at " + endpoint).orElse("") + " through "
                + settings.client.name().toLowerCase(Locale.ROOT);
    }

    private static Duration min(Duration first, Duration second) {
        return first.compareTo(second) < 0 ? first : second;
    }
}
