package dev.granary.s3.config;

import dev.granary.s3.store.ConnectionSettings;
import dev.granary.s3.store.SecretRedactor;

import java.net.URI;
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

    /**
     * An upper bound only, since {@link #PACK_STALL} checks progress: 16 MiB in this time are 28
     * KiB/s, a pack of 64 MiB 110 KiB/s.
     */
    private static final Duration PACK_REQUEST = Duration.ofMinutes(10);

    private static final Duration PACK_STALL = Duration.ofSeconds(10);

    /** Two successive stalls without progress between them, and the pause of a retry. */
    private static final Duration PACK_SILENCE = Duration.ofSeconds(20);

    /** A slow request that makes progress does not count against a bucket that transfers packs. */
    private static final Duration PACK_SLOW = PACK_REQUEST;

    /**
     * A thousand nodes that warm at once exceed a bucket's capacity: throttled requests are retried
     * after 0.2, 0.4, ... 6.4 s.
     */
    private static final int PACK_ATTEMPTS = 7;

    private static final Duration PACK_RETRY_PAUSE = Duration.ofMillis(200);

    private final S3Location location;
    private final S3ClientLibrary client;
    private final S3Access access;
    private final ConnectionSettings connection;
    private final Duration stallTimeout;
    private final Duration silence;
    private final Duration loadDeadline;
    private final Duration slowCall;
    private final Duration breakerPause;
    private final Duration absentMemory;
    private final Duration readOnlyPause;
    private final int readAttempts;
    private final Duration retryPause;
    private final Duration manifestInterval;
    private final Optional<Path> packIndexCache;
    private final Duration retention;
    private final String producer;

    private S3Config(Builder builder) {
        this.location = builder.location;
        this.client = builder.client;
        this.access = builder.access;
        this.connection = new ConnectionSettings(
                location.bucket(),
                builder.endpoint,
                builder.region,
                builder.credentials,
                builder.maxConnections,
                builder.connectTimeout,
                builder.requestTimeout,
                min(builder.stallTimeout, builder.requestTimeout));
        this.stallTimeout = builder.stallTimeout;
        this.silence = builder.silence;
        this.loadDeadline = builder.loadDeadline;
        this.slowCall = builder.slowCall;
        this.breakerPause = builder.breakerPause;
        this.absentMemory = builder.absentMemory;
        this.readOnlyPause = builder.readOnlyPause;
        this.readAttempts = builder.readAttempts;
        this.retryPause = builder.retryPause;
        this.manifestInterval = builder.manifestInterval;
        this.packIndexCache = builder.packIndexCache;
        this.retention = builder.retention;
        this.producer = builder.producer;
    }

    /**
     * Returns a builder for a bucket.
     *
     * @throws IllegalArgumentException if {@code bucket} is not a valid bucket name
     */
    public static Builder builder(String bucket) {
        return new Builder(new S3Location(bucket, ""));
    }

    /**
     * Returns these settings adapted to transfers of packs. Requests of some MiB may take ten
     * minutes while they make progress, and wait for a connection without limit. Throttled reads
     * are retried more often, since no caller waits for them.
     */
    public S3Config forPacks() {
        Builder settings = new Builder(location);
        settings.client = client;
        settings.endpoint = connection.endpoint();
        settings.region = connection.region();
        settings.credentials = connection.credentials();
        settings.maxConnections = connection.maxConnections();
        settings.connectTimeout = connection.connectTimeout();
        settings.access = access;
        settings.retention = retention;
        settings.producer = producer;
        settings.requestTimeout = PACK_REQUEST;
        settings.stallTimeout = min(PACK_STALL, stallTimeout.multipliedBy(2));
        settings.silence = min(PACK_SILENCE, stallTimeout.multipliedBy(4));
        settings.loadDeadline = PACK_REQUEST.multipliedBy(2);
        settings.slowCall = PACK_SLOW;
        settings.breakerPause = breakerPause;
        settings.packIndexCache = packIndexCache;
        settings.readAttempts = PACK_ATTEMPTS;
        settings.retryPause = PACK_RETRY_PAUSE;
        return settings.build();
    }

    /**
     * Returns the time without progress of any request after which the circuit breaker opens,
     * however few have failed.
     */
    public Duration silence() {
        return silence;
    }

    /** Returns the maximum number of attempts at one read, including the first. */
    public int readAttempts() {
        return readAttempts;
    }

    /** Returns the approximate pause before the first retry; it doubles with each further one. */
    public Duration retryPause() {
        return retryPause;
    }

    /** Returns a builder for a location. */
    public static Builder builder(S3Location location) {
        return new Builder(location);
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
        return location;
    }

    /** Returns the client library. */
    public S3ClientLibrary client() {
        return client;
    }

    /** Returns whether entries may be published. */
    public S3Access access() {
        return access;
    }

    /** Returns the connection settings. */
    public ConnectionSettings connection() {
        return connection;
    }

    /** Returns the longest time that a lookup may take. */
    public Duration loadDeadline() {
        return loadDeadline;
    }

    /** Returns the duration from which a request counts as slow for the circuit breaker. */
    public Duration slowCall() {
        return slowCall;
    }

    /** Returns the time for which the circuit breaker stays open. */
    public Duration breakerPause() {
        return breakerPause;
    }

    /** Returns the time for which the absence of an entry is cached; zero disables that. */
    public Duration absentMemory() {
        return absentMemory;
    }

    /** Returns the time without writes after the bucket refused one. */
    public Duration readOnlyPause() {
        return readOnlyPause;
    }

    /**
     * Returns the interval at which a target's manifest of packs is refreshed; zero disables packs.
     */
    public Duration manifestInterval() {
        return manifestInterval;
    }

    /**
     * Returns the directory that caches manifests and indexes of packs; empty if each process reads
     * them from the bucket.
     */
    public Optional<Path> packIndexCache() {
        return packIndexCache;
    }

    /**
     * Returns the age at which a lifecycle rule may delete objects; zero disables rewriting of old
     * entries.
     */
    public Duration retention() {
        return retention;
    }

    /** Returns the name of the program that writes to the bucket, for its marker. */
    public String producer() {
        return producer;
    }

    @Override
    public String toString() {
        return location
                + connection.endpoint().map(endpoint -> " at " + endpoint).orElse("") + " through "
                + client.name().toLowerCase(Locale.ROOT);
    }

    private static Duration min(Duration first, Duration second) {
        return first.compareTo(second) < 0 ? first : second;
    }

    /** Builder of settings. Not thread-safe. */
    public static final class Builder {
        private S3Location location;
        private S3ClientLibrary client = S3ClientLibrary.AWS;
        private S3Access access = S3Access.READ_WRITE;
        private Optional<URI> endpoint = Optional.empty();
        private Optional<String> region = Optional.empty();
        private Optional<ConnectionSettings.Credentials> credentials = Optional.empty();
        private int maxConnections = 64;
        private Duration connectTimeout = Duration.ofSeconds(2);
        private Duration requestTimeout = DEFAULT_REQUEST_TIMEOUT;
        private Duration stallTimeout = Duration.ofSeconds(5);
        private Duration silence = Duration.ofSeconds(10);
        private Duration loadDeadline = DEFAULT_LOAD_DEADLINE;
        private Duration slowCall = Duration.ofSeconds(3);
        private Duration breakerPause = Duration.ofSeconds(30);
        private Duration absentMemory = Duration.ofSeconds(5);
        private Duration readOnlyPause = Duration.ofMinutes(5);
        private int readAttempts = 3;
        private Duration retryPause = Duration.ofMillis(50);
        private Duration manifestInterval = Duration.ofMinutes(1);
        private Optional<Path> packIndexCache = Optional.empty();
        private Duration retention = Duration.ofDays(90);
        private String producer = "granary";

        private Builder(S3Location location) {
            this.location = location;
        }

        /**
         * Sets the prefix of all keys; default empty, the whole bucket.
         *
         * @throws IllegalArgumentException if it is not path components separated by single slashes
         */
        public Builder prefix(String prefix) {
            location = new S3Location(location.bucket(), prefix);
            return this;
        }

        /**
         * Sets the server, such as {@code http://minio:9000}, and path-style addressing; default
         * Amazon S3.
         *
         * @throws IllegalArgumentException if it is not an http or https address of a host, or has
         *     user information, a query or a fragment
         */
        public Builder endpoint(URI endpoint) {
            String scheme = endpoint.getScheme() == null
                    ? ""
                    : endpoint.getScheme().toLowerCase(Locale.ROOT);
            if (!(scheme.equals("http") || scheme.equals("https")) || endpoint.getHost() == null) {
                throw new IllegalArgumentException(
                        "Not an endpoint: \"" + SecretRedactor.redact(endpoint.toString())
                                + "\". Write http:// or https://, a host, and a port"
                                + " if it is not the default one, such as http://minio:9000");
            }
            if (endpoint.getUserInfo() != null) {
                throw new IllegalArgumentException(
                        "The endpoint " + scheme + "://" + endpoint.getHost()
                                + " must not contain credentials: set AWS_ACCESS_KEY_ID and"
                                + " AWS_SECRET_ACCESS_KEY instead");
            }
            if (endpoint.getQuery() != null || endpoint.getFragment() != null) {
                throw new IllegalArgumentException("The endpoint " + scheme + "://"
                        + endpoint.getHost() + " must not have a query or a fragment");
            }
            this.endpoint = Optional.of(endpoint);
            return this;
        }

        /**
         * Sets the region of the bucket; default that of the environment, {@code us-east-1} with an
         * endpoint.
         */
        public Builder region(String region) {
            this.region = Optional.of(region);
            return this;
        }

        /** Sets the client library; default {@link S3ClientLibrary#AWS}. */
        public Builder client(S3ClientLibrary client) {
            this.client = client;
            return this;
        }

        /** Sets whether entries may be published; default {@link S3Access#READ_WRITE}. */
        public Builder access(S3Access access) {
            this.access = access;
            return this;
        }

        /** Sets the credentials; default those of the AWS SDK's default chain. */
        public Builder credentials(String accessKey, String secretKey) {
            this.credentials =
                    Optional.of(new ConnectionSettings.Credentials(accessKey, secretKey));
            return this;
        }

        /**
         * Sets the maximum number of concurrent requests; default 64. Further ones wait.
         *
         * @throws IllegalArgumentException if it is not 1 to 10,000
         */
        public Builder maxConnections(int maxConnections) {
            if (maxConnections < 1 || maxConnections > 10_000) {
                throw new IllegalArgumentException(
                        "The number of connections must be 1 to 10000, not " + maxConnections);
            }
            this.maxConnections = maxConnections;
            return this;
        }

        /** Sets the longest time to connect; default 2 s. */
        public Builder connectTimeout(Duration timeout) {
            this.connectTimeout = positive(timeout, "connect timeout");
            return this;
        }

        /** Sets the longest time of one request, including its body; default 8 s. */
        public Builder requestTimeout(Duration timeout) {
            this.requestTimeout = positive(timeout, "request timeout");
            return this;
        }

        /**
         * Sets the longest time of a request without progress; default 5 s. Progress is 1 KiB sent
         * or received, or the head of the response. Requests that transfer packs get twice that, at
         * most 10 s. Values above the request timeout have no effect.
         */
        public Builder stallTimeout(Duration timeout) {
            this.stallTimeout = positive(timeout, "stall timeout");
            return this;
        }

        /**
         * Sets the longest time of a lookup, including retries and the wait for a connection;
         * default 10 s. It must not be below the request timeout. The difference of the two is the
         * longest wait for a connection: a bulk fetch that queues thousands of requests needs
         * minutes here.
         */
        public Builder loadDeadline(Duration deadline) {
            this.loadDeadline = positive(deadline, "load deadline");
            return this;
        }

        /** Sets the approximate pause before a read is retried; for tests. */
        public Builder retryPause(Duration pause) {
            this.retryPause = positive(pause, "retry pause");
            return this;
        }

        /**
         * Sets the duration from which a request counts as slow for the circuit breaker; default 3
         * s.
         */
        public Builder slowCall(Duration slow) {
            this.slowCall = positive(slow, "slow call");
            return this;
        }

        /** Sets the time for which the circuit breaker stays open; default 30 s. */
        public Builder breakerPause(Duration pause) {
            this.breakerPause = positive(pause, "breaker pause");
            return this;
        }

        /**
         * Sets the time for which the absence of an entry is cached; default 5 s. Zero disables
         * that.
         */
        public Builder absentMemory(Duration memory) {
            if (memory.isNegative()) {
                throw new IllegalArgumentException(
                        "The absent memory must be zero or more, not " + memory);
            }
            this.absentMemory = memory;
            return this;
        }

        /** Sets the time without writes after the bucket refused one; default 5 minutes. */
        public Builder readOnlyPause(Duration pause) {
            this.readOnlyPause = positive(pause, "read-only pause");
            return this;
        }

        /**
         * Sets the interval at which a target's manifest of packs is refreshed; default 1 minute.
         * Zero disables packs: only unpacked entries are read.
         */
        public Builder manifestInterval(Duration interval) {
            if (interval.isNegative()) {
                throw new IllegalArgumentException(
                        "The manifest interval must be zero or more, not " + interval);
            }
            this.manifestInterval = interval;
            return this;
        }

        /**
         * Sets a directory that caches manifests and indexes of packs for all processes of this
         * machine; default none. It must be private to this user, and is created when needed.
         */
        public Builder packIndexCache(Path directory) {
            this.packIndexCache = Optional.of(directory);
            return this;
        }

        /**
         * Sets the age at which a lifecycle rule may delete objects; default 90 days. A publication
         * rewrites an existing entry that is older than half of it. Zero disables that.
         */
        public Builder retention(Duration retention) {
            if (retention.isNegative()) {
                throw new IllegalArgumentException(
                        "The retention must be zero or more, not " + retention);
            }
            this.retention = retention;
            return this;
        }

        /**
         * Sets the name of the program for the marker in the bucket, such as {@code granary 0.1.0};
         * default {@code granary}.
         */
        public Builder producer(String producer) {
            this.producer = producer;
            return this;
        }

        /**
         * Returns the settings.
         *
         * @throws IllegalArgumentException if the load deadline is below the request timeout
         */
        public S3Config build() {
            if (loadDeadline.compareTo(requestTimeout) < 0) {
                throw new IllegalArgumentException("The load deadline (" + loadDeadline
                        + ") must not be below the request timeout (" + requestTimeout
                        + "): lower the request timeout too");
            }
            return new S3Config(this);
        }

        private static Duration positive(Duration value, String name) {
            if (value.isNegative() || value.isZero()) {
                throw new IllegalArgumentException(
                        "The " + name + " must be above zero, not " + value);
            }
            return value;
        }
    }
}
