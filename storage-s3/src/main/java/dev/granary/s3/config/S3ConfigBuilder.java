package dev.granary.s3.config;

import dev.granary.s3.store.ConnectionSettings;
import dev.granary.s3.store.SecretRedactor;

import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Supplier;

/** Builder of the {@linkplain S3Config settings} of a bucket tier. Not thread-safe. */
public final class S3ConfigBuilder implements Cloneable {
    S3Location location;
    S3ClientLibrary client = S3ClientLibrary.AWS;
    S3Access access = S3Access.READ_WRITE;
    Optional<URI> endpoint = Optional.empty();
    Optional<String> region = Optional.empty();
    Optional<Supplier<ConnectionSettings.Credentials>> credentials = Optional.empty();
    int maxConnections = 64;
    Duration connectTimeout = Duration.ofSeconds(2);
    Duration requestTimeout = S3Config.DEFAULT_REQUEST_TIMEOUT;
    Duration stallTimeout = Duration.ofSeconds(3);
    Duration loadDeadline = S3Config.DEFAULT_LOAD_DEADLINE;
    Duration slowCall = Duration.ofSeconds(3);
    Duration breakerPause = Duration.ofSeconds(30);
    Duration absentMemory = Duration.ofSeconds(5);
    int readAttempts = 3;
    Duration retryPause = Duration.ofMillis(50);
    Duration refreshInterval = Duration.ofMinutes(1);
    Optional<Path> packIndexCache = Optional.empty();
    Duration retention = Duration.ofDays(90);
    String producer = "granary";

    S3ConfigBuilder(S3Location location) {
        this.location = location;
    }

    /** Returns a copy; all settings are immutable. */
    S3ConfigBuilder copy() {
        try {
            return (S3ConfigBuilder) clone();
        } catch (CloneNotSupportedException e) {
            throw new AssertionError(e);
        }
    }

    /**
     * Sets the prefix of all keys; default empty, the whole bucket.
     *
     * @throws IllegalArgumentException if it is not path components separated by single slashes
     */
    public S3ConfigBuilder prefix(String prefix) {
        location = new S3Location(location.bucket(), prefix);
        return this;
    }

    /**
     * Sets the server, such as {@code http://minio:9000}, and path-style addressing; default Amazon
     * S3.
     *
     * @throws IllegalArgumentException if it is not an http or https address of a host, or has user
     *     information, a query or a fragment
     */
    public S3ConfigBuilder endpoint(URI endpoint) {
        String scheme =
                endpoint.getScheme() == null ? "" : endpoint.getScheme().toLowerCase(Locale.ROOT);
        if (!(scheme.equals("http") || scheme.equals("https")) || endpoint.getHost() == null) {
            throw new IllegalArgumentException(
                    "Not an endpoint: \"" + SecretRedactor.redact(endpoint.toString())
                            + "\". Write http:// or https://, a host, and a port"
                            + " if it is not the default one, such as http://minio:9000");
        }
        if (endpoint.getUserInfo() != null) {
            throw new IllegalArgumentException("The endpoint " + scheme + "://" + endpoint.getHost()
                    + " must not contain credentials: set AWS_ACCESS_KEY_ID and"
                    + " AWS_SECRET_ACCESS_KEY instead");
        }
        if (endpoint.getQuery() != null || endpoint.getFragment() != null) {
            throw new IllegalArgumentException("The endpoint " + scheme + "://" + endpoint.getHost()
                    + " must not have a query or a fragment");
        }
        this.endpoint = Optional.of(endpoint);
        return this;
    }

    /**
     * Sets the region of the bucket; default that of the environment, {@code us-east-1} with an
     * endpoint.
     */
    public S3ConfigBuilder region(String region) {
        this.region = Optional.of(region);
        return this;
    }

    /** Sets the client library; default {@link S3ClientLibrary#AWS}. */
    public S3ConfigBuilder client(S3ClientLibrary client) {
        this.client = client;
        return this;
    }

    /** Sets whether entries may be published; default {@link S3Access#READ_WRITE}. */
    public S3ConfigBuilder access(S3Access access) {
        this.access = access;
        return this;
    }

    /** Sets fixed credentials. */
    public S3ConfigBuilder credentials(String accessKey, String secretKey) {
        var fixed = new ConnectionSettings.Credentials(accessKey, secretKey, Optional.empty());
        return credentials(() -> fixed);
    }

    /** Sets the source of credentials; default that of the AWS SDK's default chain. */
    public S3ConfigBuilder credentials(Supplier<ConnectionSettings.Credentials> source) {
        this.credentials = Optional.of(source);
        return this;
    }

    /**
     * Sets the maximum number of concurrent requests; default 64. Further ones wait.
     *
     * @throws IllegalArgumentException if it is not 1 to 10,000
     */
    public S3ConfigBuilder maxConnections(int maxConnections) {
        if (maxConnections < 1 || maxConnections > 10_000) {
            throw new IllegalArgumentException(
                    "The number of connections must be 1 to 10000, not " + maxConnections);
        }
        this.maxConnections = maxConnections;
        return this;
    }

    /** Sets the longest time to connect; default 2 s. */
    public S3ConfigBuilder connectTimeout(Duration timeout) {
        this.connectTimeout = positive(timeout, "connect timeout");
        return this;
    }

    /** Sets the longest time of one request, including its body; default 8 s. */
    public S3ConfigBuilder requestTimeout(Duration timeout) {
        this.requestTimeout = positive(timeout, "request timeout");
        return this;
    }

    /**
     * Sets the longest wait for the next bytes of a response; default 3 s, which leaves a lookup
     * the time for a second attempt. Requests that transfer packs get four times that, at most 10
     * s. Values above the request timeout have no effect.
     */
    public S3ConfigBuilder stallTimeout(Duration timeout) {
        this.stallTimeout = positive(timeout, "stall timeout");
        return this;
    }

    /**
     * Sets the longest time of a lookup, including retries and the wait for a connection; default
     * 10 s. It must not be below the request timeout. The difference of the two is the longest wait
     * for a connection: a bulk fetch that queues thousands of requests needs minutes here.
     */
    public S3ConfigBuilder loadDeadline(Duration deadline) {
        this.loadDeadline = positive(deadline, "load deadline");
        return this;
    }

    /**
     * Sets the duration from which a request counts as slow for the circuit breaker; default 3 s.
     */
    public S3ConfigBuilder slowCall(Duration slow) {
        this.slowCall = positive(slow, "slow call");
        return this;
    }

    /** Sets the time for which the circuit breaker stays open; default 30 s. */
    public S3ConfigBuilder breakerPause(Duration pause) {
        this.breakerPause = positive(pause, "breaker pause");
        return this;
    }

    /**
     * Sets the time for which the absence of an entry is cached; default 5 s. Zero disables that.
     */
    public S3ConfigBuilder absentMemory(Duration memory) {
        if (memory.isNegative()) {
            throw new IllegalArgumentException(
                    "The absent memory must be zero or more, not " + memory);
        }
        this.absentMemory = memory;
        return this;
    }

    /**
     * Sets the interval at which the head of a target is compared with the bucket's; default 1
     * minute. Zero disables packs: only unpacked entries are read.
     */
    public S3ConfigBuilder refreshInterval(Duration interval) {
        if (interval.isNegative()) {
            throw new IllegalArgumentException(
                    "The refresh interval must be zero or more, not " + interval);
        }
        this.refreshInterval = interval;
        return this;
    }

    /**
     * Sets a directory that caches heads and indexes of packs for all processes of this machine;
     * default none. It must be private to this user, and is created when needed.
     */
    public S3ConfigBuilder packIndexCache(Path directory) {
        this.packIndexCache = Optional.of(directory);
        return this;
    }

    /**
     * Sets the age at which a lifecycle rule may delete objects; default 90 days. A publication
     * rewrites an existing entry that is older than half of it. Zero disables that.
     */
    public S3ConfigBuilder retention(Duration retention) {
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
    public S3ConfigBuilder producer(String producer) {
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
            throw new IllegalArgumentException("The " + name + " must be above zero, not " + value);
        }
        return value;
    }
}
