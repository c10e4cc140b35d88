package dev.granary.s3.config;

import dev.granary.cache.format.TrustPolicy;
import dev.granary.s3.store.ConnectionOption;
import dev.granary.s3.store.ConnectionSettings;
import dev.granary.s3.store.SecretRedactor;

import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/** Builder of the {@linkplain S3Config settings} of a bucket tier. Not thread-safe. */
public final class S3ConfigBuilder {
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);
    private static final int READ_ATTEMPTS = 3;
    private static final Duration RETRY_PAUSE = Duration.ofMillis(50);

    private S3Location location;
    private S3ClientLibrary client = S3ClientLibrary.AWS;
    private S3Access access = S3Access.READ_WRITE;
    private Optional<URI> endpoint = Optional.empty();
    private Optional<String> region = Optional.empty();
    private Optional<Supplier<ConnectionSettings.Credentials>> credentials = Optional.empty();
    private Map<ConnectionOption, String> options = Map.of();
    private int maxConnections = 64;
    private Duration requestTimeout = S3Config.DEFAULT_REQUEST_TIMEOUT;
    private Duration stallTimeout = Duration.ofSeconds(3);
    private Duration loadDeadline = S3Config.DEFAULT_LOAD_DEADLINE;
    private TrustPolicy trust = TrustPolicy.OFF;
    private Duration breakerPause = Duration.ofSeconds(30);
    private Duration absentMemory = Duration.ofSeconds(5);
    private Duration refreshInterval = Duration.ofMinutes(1);
    private Optional<Path> packIndexCache = Optional.empty();
    private String producer = "granary";

    S3ConfigBuilder(S3Location location) {
        this.location = location;
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

    /** Sets further options; default none. */
    public S3ConfigBuilder options(Map<ConnectionOption, String> options) {
        this.options = Map.copyOf(options);
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

    /** Sets which signatures of entries count; default: entries need none. */
    public S3ConfigBuilder trust(TrustPolicy policy) {
        this.trust = policy;
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
        this.absentMemory = notNegative(memory, "absent memory");
        return this;
    }

    /**
     * Sets the interval at which the head of a target is compared with the bucket's; default 1
     * minute. Zero disables packs: only unpacked entries are read.
     */
    public S3ConfigBuilder refreshInterval(Duration interval) {
        this.refreshInterval = notNegative(interval, "refresh interval");
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
        ConnectionSettings connection = new ConnectionSettings(
                location.bucket(),
                endpoint,
                region,
                credentials,
                options,
                maxConnections,
                CONNECT_TIMEOUT,
                requestTimeout,
                stallTimeout.compareTo(requestTimeout) < 0 ? stallTimeout : requestTimeout);
        return new S3Config(
                location,
                client,
                access,
                connection,
                loadDeadline,
                breakerPause,
                absentMemory,
                READ_ATTEMPTS,
                RETRY_PAUSE,
                refreshInterval,
                packIndexCache,
                trust,
                producer);
    }

    private static Duration notNegative(Duration value, String name) {
        if (value.isNegative()) {
            throw new IllegalArgumentException(
                    "The " + name + " must be zero or more, not " + value);
        }
        return value;
    }

    private static Duration positive(Duration value, String name) {
        if (value.isNegative() || value.isZero()) {
            throw new IllegalArgumentException("The " + name + " must be above zero, not " + value);
        }
        return value;
    }
}
