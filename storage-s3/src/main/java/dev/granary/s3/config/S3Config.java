package dev.granary.s3.config;

import dev.granary.s3.store.ConnectionSettings;
import dev.granary.s3.store.SecretRedactor;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;

/** The settings of a bucket tier. Immutable; made by {@link #builder} or {@link #parse}. */
public final class S3Config {
    /** A guard only: progress decides ({@link #PACK_STALL}). A part of 16 MiB needs 28 KiB/s for it, a pack of 64 MiB 110 KiB/s. */
    private static final Duration PACK_REQUEST = Duration.ofMinutes(10);

    private static final Duration PACK_STALL = Duration.ofSeconds(10);

    /** Two stalls in a row without any progress between, and a retry's pause. */
    private static final Duration PACK_SILENCE = Duration.ofSeconds(20);

    /** A slow request that makes progress says nothing against a bucket that moves packs. */
    private static final Duration PACK_SLOW = PACK_REQUEST;

    /** A thousand nodes that warm at once are more than a bucket serves at once: who is sent away comes back 0.2, 0.4, ... 6.4 s later. */
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
    private final Optional<Path> shelves;
    private final Duration retention;
    private final String producer;

    private S3Config(Builder builder) {
        this.location = builder.location;
        this.client = builder.client;
        this.access = builder.access;
        this.connection = new ConnectionSettings(location.bucket(), builder.endpoint, builder.region, builder.credentials,
                builder.maxConnections, builder.connectTimeout, builder.requestTimeout,
                shorter(builder.stallTimeout, builder.requestTimeout));
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
        this.shelves = builder.shelves;
        this.retention = builder.retention;
        this.producer = builder.producer;
    }

    /**
     * Starts the settings for a bucket.
     *
     * @throws IllegalArgumentException if that cannot be the name of a bucket
     */
    public static Builder builder(String bucket) {
        return new Builder(new S3Location(bucket, ""));
    }

    /**
     * The same bucket for what moves packs: requests of some MiB may take ten minutes while they make progress, and wait for as long as it takes; a read
     * that the server turns away is sent again more often, since nobody waits for it.
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
        settings.stallTimeout = shorter(PACK_STALL, stallTimeout.multipliedBy(2));
        settings.silence = shorter(PACK_SILENCE, stallTimeout.multipliedBy(4));
        settings.loadDeadline = PACK_REQUEST.multipliedBy(2);
        settings.slowCall = PACK_SLOW;
        settings.breakerPause = breakerPause;
        settings.shelves = shelves;
        settings.readAttempts = PACK_ATTEMPTS;
        settings.retryPause = PACK_RETRY_PAUSE;
        return settings.build();
    }

    /** After how long without any progress of any request the circuit breaker opens, however few have failed. */
    public Duration silence() {
        return silence;
    }

    /** How often a read is sent that fails with what may pass: the first time included. */
    public int readAttempts() {
        return readAttempts;
    }

    /** How long to wait before it is sent again, about; each further time twice as long. */
    public Duration retryPause() {
        return retryPause;
    }

    /** Starts the settings for a location. */
    public static Builder builder(S3Location location) {
        return new Builder(location);
    }

    /**
     * The default settings for {@code s3://bucket/prefix}.
     *
     * @throws IllegalArgumentException if {@code text} is anything else, with what is right
     */
    public static S3Config parse(String text) {
        return builder(S3Location.parse(text)).build();
    }

    /** Bucket and prefix. */
    public S3Location location() {
        return location;
    }

    /** The client library. */
    public S3ClientLibrary client() {
        return client;
    }

    /** Whether anything may be written. */
    public S3Access access() {
        return access;
    }

    /** How to reach the bucket. */
    public ConnectionSettings connection() {
        return connection;
    }

    /** How long a look-up may take in all. */
    public Duration loadDeadline() {
        return loadDeadline;
    }

    /** From when on a request counts as slow for the circuit breaker. */
    public Duration slowCall() {
        return slowCall;
    }

    /** How long the bucket is left alone after the circuit breaker has opened. */
    public Duration breakerPause() {
        return breakerPause;
    }

    /** How long it is remembered that an entry is absent; zero to ask each time. */
    public Duration absentMemory() {
        return absentMemory;
    }

    /** How long nothing is written after the bucket refused a write. */
    public Duration readOnlyPause() {
        return readOnlyPause;
    }

    /** How often a target's manifest of packs is compared with the bucket's; zero where packs are not used. */
    public Duration manifestInterval() {
        return manifestInterval;
    }

    /** Where manifests and indexes of packs are kept on this machine's disk; empty: each process reads them from the bucket. */
    public Optional<Path> shelves() {
        return shelves;
    }

    /** After what age a lifecycle rule may delete objects of the bucket; zero where nothing is written anew because of its age. */
    public Duration retention() {
        return retention;
    }

    /** What writes into the bucket, as its store marker tells it. */
    public String producer() {
        return producer;
    }

    @Override
    public String toString() {
        return location + connection.endpoint().map(endpoint -> " at " + endpoint).orElse("")
                + " through " + client.name().toLowerCase(Locale.ROOT);
    }

    private static Duration shorter(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other;
    }

    /** Collects settings. Not thread-safe. */
    public static final class Builder {
        private S3Location location;
        private S3ClientLibrary client = S3ClientLibrary.AWS;
        private S3Access access = S3Access.READ_WRITE;
        private Optional<URI> endpoint = Optional.empty();
        private Optional<String> region = Optional.empty();
        private Optional<ConnectionSettings.Credentials> credentials = Optional.empty();
        private int maxConnections = 64;
        private Duration connectTimeout = Duration.ofSeconds(2);
        private Duration requestTimeout = Duration.ofSeconds(8);
        private Duration stallTimeout = Duration.ofSeconds(5);
        private Duration silence = Duration.ofSeconds(10);
        private Duration loadDeadline = Duration.ofSeconds(10);
        private Duration slowCall = Duration.ofSeconds(3);
        private Duration breakerPause = Duration.ofSeconds(30);
        private Duration absentMemory = Duration.ofSeconds(5);
        private Duration readOnlyPause = Duration.ofMinutes(5);
        private int readAttempts = 3;
        private Duration retryPause = Duration.ofMillis(50);
        private Duration manifestInterval = Duration.ofMinutes(1);
        private Optional<Path> shelves = Optional.empty();
        private Duration retention = Duration.ofDays(90);
        private String producer = "granary";

        private Builder(S3Location location) {
            this.location = location;
        }

        /**
         * Puts all keys below {@code prefix}; default empty, the whole bucket.
         *
         * @throws IllegalArgumentException if it is not path components with single slashes between
         */
        public Builder prefix(String prefix) {
            location = new S3Location(location.bucket(), prefix);
            return this;
        }

        /**
         * The server, such as {@code http://minio:9000}; default Amazon S3. Buckets are addressed by path then.
         *
         * @throws IllegalArgumentException if it is not an http or https address of a host, or has user information, a query or a fragment
         */
        public Builder endpoint(URI endpoint) {
            String scheme = endpoint.getScheme() == null ? "" : endpoint.getScheme().toLowerCase(Locale.ROOT);
            if (!(scheme.equals("http") || scheme.equals("https")) || endpoint.getHost() == null) {
                throw new IllegalArgumentException("Not an endpoint: \"" + SecretRedactor.hide(endpoint.toString()) + "\". Write http:// or https://, a host, and a port"
                        + " where it is not the usual one, such as http://minio:9000");
            }
            if (endpoint.getUserInfo() != null) {
                throw new IllegalArgumentException("The endpoint " + scheme + "://" + endpoint.getHost()
                        + " must not hold credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead");
            }
            if (endpoint.getQuery() != null || endpoint.getFragment() != null) {
                throw new IllegalArgumentException("The endpoint " + scheme + "://" + endpoint.getHost() + " must not have a query or a fragment");
            }
            this.endpoint = Optional.of(endpoint);
            return this;
        }

        /** The region of the bucket; default what the environment says, and {@code us-east-1} with an endpoint. */
        public Builder region(String region) {
            this.region = Optional.of(region);
            return this;
        }

        /** The client library; default {@link S3ClientLibrary#AWS}. */
        public Builder client(S3ClientLibrary client) {
            this.client = client;
            return this;
        }

        /** Whether anything may be written; default {@link S3Access#READ_WRITE}. */
        public Builder access(S3Access access) {
            this.access = access;
            return this;
        }

        /** Who asks; default what the usual chain of the AWS SDK finds. */
        public Builder credentials(String accessKey, String secretKey) {
            this.credentials = Optional.of(new ConnectionSettings.Credentials(accessKey, secretKey));
            return this;
        }

        /**
         * How many requests may be under way at once; default 64. More wait.
         *
         * @throws IllegalArgumentException if it is not 1 to 10,000
         */
        public Builder maxConnections(int maxConnections) {
            if (maxConnections < 1 || maxConnections > 10_000) {
                throw new IllegalArgumentException("The number of connections must be 1 to 10000, not " + maxConnections);
            }
            this.maxConnections = maxConnections;
            return this;
        }

        /** How long a connection may take; default 2 s. */
        public Builder connectTimeout(Duration timeout) {
            this.connectTimeout = positive(timeout, "connect timeout");
            return this;
        }

        /** How long one request may take, body included; default 8 s. */
        public Builder requestTimeout(Duration timeout) {
            this.requestTimeout = positive(timeout, "request timeout");
            return this;
        }

        /**
         * How long a request may go without progress: a kibibyte sent or received, or the head of its answer; default 5 s. Requests that move packs
         * get twice that, at most 10 s. It counts no more than the request timeout.
         */
        public Builder stallTimeout(Duration timeout) {
            this.stallTimeout = positive(timeout, "stall timeout");
            return this;
        }

        /**
         * How long a look-up may take in all, waiting for a connection and retries included; default 10 s, and not below the request timeout.
         * What is above the request timeout is the longest wait for a connection: a bulk fetch that queues thousands wants minutes here.
         */
        public Builder loadDeadline(Duration deadline) {
            this.loadDeadline = positive(deadline, "load deadline");
            return this;
        }

        /** How long to wait before a read is sent again, about; for tests. */
        public Builder retryPause(Duration pause) {
            this.retryPause = positive(pause, "retry pause");
            return this;
        }

        /** From when on a request counts as slow for the circuit breaker; default 3 s. */
        public Builder slowCall(Duration slow) {
            this.slowCall = positive(slow, "slow call");
            return this;
        }

        /** How long the bucket is left alone after too many failures; default 30 s. */
        public Builder breakerPause(Duration pause) {
            this.breakerPause = positive(pause, "breaker pause");
            return this;
        }

        /** How long it is remembered that an entry is absent; default 5 s, zero to ask each time. */
        public Builder absentMemory(Duration memory) {
            if (memory.isNegative()) {
                throw new IllegalArgumentException("The absent memory must be zero or more, not " + memory);
            }
            this.absentMemory = memory;
            return this;
        }

        /** How long nothing is written after the bucket refused a write; default 5 minutes. */
        public Builder readOnlyPause(Duration pause) {
            this.readOnlyPause = positive(pause, "read-only pause");
            return this;
        }

        /**
         * How often the manifest of a target's packs is compared with the bucket's; default a minute. Zero: packs are not used, only entries that
         * lie alone.
         */
        public Builder manifestInterval(Duration interval) {
            if (interval.isNegative()) {
                throw new IllegalArgumentException("The manifest interval must be zero or more, not " + interval);
            }
            this.manifestInterval = interval;
            return this;
        }

        /**
         * Keeps manifests and indexes of packs in a directory of this machine's disk, for all its processes; default: nowhere. It must be private
         * to this user, and is created when it is needed.
         */
        public Builder shelves(Path directory) {
            this.shelves = Optional.of(directory);
            return this;
        }

        /**
         * After what age a lifecycle rule may delete objects; default 90 days. Who publishes what is there already, and older than half of it,
         * writes it anew. Zero to leave that.
         */
        public Builder retention(Duration retention) {
            if (retention.isNegative()) {
                throw new IllegalArgumentException("The retention must be zero or more, not " + retention);
            }
            this.retention = retention;
            return this;
        }

        /** What writes into the bucket, for people who read its store marker, such as {@code granary 0.1.0}; default {@code granary}. */
        public Builder producer(String producer) {
            this.producer = producer;
            return this;
        }

        /**
         * The settings.
         *
         * @throws IllegalArgumentException if the load deadline is below the request timeout
         */
        public S3Config build() {
            if (loadDeadline.compareTo(requestTimeout) < 0) {
                throw new IllegalArgumentException("The load deadline (" + loadDeadline + ") must not be below the request timeout ("
                        + requestTimeout + "): lower the request timeout too");
            }
            return new S3Config(this);
        }

        private static Duration positive(Duration value, String name) {
            if (value.isNegative() || value.isZero()) {
                throw new IllegalArgumentException("The " + name + " must be above zero, not " + value);
            }
            return value;
        }
    }
}
