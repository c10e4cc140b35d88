package dev.granary.s3.config;

import dev.granary.cache.format.TrustPolicy;
import dev.granary.s3.store.ConnectionSettings;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;

/**
 * The settings of a bucket tier. Immutable; created by {@link #builder}, which has the defaults.
 *
 * @param location bucket and prefix
 * @param client the client library
 * @param access whether entries may be published
 * @param connection the connection settings
 * @param loadDeadline the longest time that a lookup may take
 * @param breakerPause the time for which the circuit breaker stays open
 * @param absentMemory the time for which the absence of an entry is cached; zero disables that
 * @param readAttempts the maximum number of attempts at one read, including the first
 * @param retryPause the approximate pause before the first retry; it doubles with each further one
 * @param refreshInterval the interval at which the head of a target is compared with the bucket's;
 *     zero disables packs
 * @param packIndexCache the directory that caches heads and indexes of packs; empty if each process
 *     reads them from the bucket
 * @param trust which signatures of entries count
 * @param producer the name of the program that writes to the bucket, for its marker
 */
public record S3Config(
        S3Location location,
        S3ClientLibrary client,
        S3Access access,
        ConnectionSettings connection,
        Duration loadDeadline,
        Duration breakerPause,
        Duration absentMemory,
        int readAttempts,
        Duration retryPause,
        Duration refreshInterval,
        Optional<Path> packIndexCache,
        TrustPolicy trust,
        String producer) {
    /** The default limit of one request: 8 s. */
    public static final Duration DEFAULT_REQUEST_TIMEOUT = Duration.ofSeconds(8);

    /** The default limit of all requests of one load: 10 s. */
    public static final Duration DEFAULT_LOAD_DEADLINE = Duration.ofSeconds(10);

    /** 16 MiB in this time are 28 KiB/s, a pack of 64 MiB 110 KiB/s. */
    private static final Duration PACK_REQUEST = Duration.ofMinutes(10);

    private static final Duration PACK_STALL = Duration.ofSeconds(10);

    /**
     * A thousand nodes that warm at once exceed a bucket's capacity: throttled requests are retried
     * after 0.2, 0.4, ... 6.4 s.
     */
    private static final int PACK_ATTEMPTS = 7;

    private static final Duration PACK_RETRY_PAUSE = Duration.ofMillis(200);

    /**
     * Returns a builder for a bucket.
     *
     * @throws IllegalArgumentException if {@code bucket} is not a valid bucket name
     */
    public static S3ConfigBuilder builder(String bucket) {
        return builder(new S3Location(bucket, ""));
    }

    /** Returns a builder for a location. */
    public static S3ConfigBuilder builder(S3Location location) {
        return new S3ConfigBuilder(location);
    }

    /**
     * Returns these settings adapted to transfers of packs. Requests of some MiB may take ten
     * minutes, and wait ten more for a connection. Throttled reads are retried more often, since no
     * caller waits for them.
     */
    public S3Config forPacks() {
        Duration stall = Duration.ofNanos(connection.stallTimeout().toNanos() * 4);
        return new S3Config(
                location,
                client,
                access,
                connection.with(PACK_REQUEST, stall.compareTo(PACK_STALL) < 0 ? stall : PACK_STALL),
                PACK_REQUEST.plus(PACK_REQUEST),
                breakerPause,
                absentMemory,
                PACK_ATTEMPTS,
                PACK_RETRY_PAUSE,
                refreshInterval,
                packIndexCache,
                trust,
                producer);
    }

    @Override
    public String toString() {
        return location
                + connection.endpoint().map(endpoint -> " at " + endpoint).orElse("") + " through "
                + client.name().toLowerCase(Locale.ROOT);
    }
}
