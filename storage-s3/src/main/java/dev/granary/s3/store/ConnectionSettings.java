package dev.granary.s3.store;

import java.net.URI;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Settings of the connection to one bucket; a transport needs nothing else.
 *
 * @param bucket the name of the bucket
 * @param endpoint the server, with path-style addressing; empty for Amazon S3
 * @param region the region that requests are signed for; empty for that of the environment,
 *     {@code us-east-1} with an endpoint
 * @param credentials the source of the credentials of each request; empty for the AWS SDK's default
 *     chain (environment, profile, web identity, instance)
 * @param options further options; those of credentials override {@code credentials}
 * @param maxConnections the maximum number of concurrent requests
 * @param connectTimeout the longest time to connect
 * @param requestTimeout the longest time of one request, including its body; a PUT has
 *     {@link #putTimeout}
 * @param stallTimeout the longest wait for the next bytes of a response; for the MinIO client also
 *     for sending the next bytes
 */
public record ConnectionSettings(
        String bucket,
        Optional<URI> endpoint,
        Optional<String> region,
        Optional<Supplier<Credentials>> credentials,
        Map<ConnectionOption, String> options,
        int maxConnections,
        Duration connectTimeout,
        Duration requestTimeout,
        Duration stallTimeout) {
    /** The rate in bytes a second at which the body of a PUT extends its time. */
    private static final long PUT_RATE = 1 << 20;

    /** The default region for requests to an endpoint. */
    public static final String ENDPOINT_REGION = "us-east-1";

    /**
     * Returns the longest time of a PUT: that of a request, and the time of its body at 1 MiB/s.
     *
     * @param bytes the length of the body
     */
    public Duration putTimeout(long bytes) {
        return requestTimeout.plusMillis(bytes * 1000 / PUT_RATE);
    }

    /** Returns the value of an option. */
    public Optional<String> option(ConnectionOption option) {
        return Optional.ofNullable(options.get(option));
    }

    /** Returns true if requests are not signed. */
    public boolean isAnonymous() {
        return options.containsKey(ConnectionOption.CREDENTIALS);
    }

    /** Returns these settings with other limits of a request. */
    public ConnectionSettings with(Duration newRequestTimeout, Duration newStallTimeout) {
        return new ConnectionSettings(
                bucket,
                endpoint,
                region,
                credentials,
                options,
                maxConnections,
                connectTimeout,
                newRequestTimeout,
                newStallTimeout);
    }

    /**
     * An access key and its secret. {@link #toString} omits the secret.
     *
     * @param accessKey the public part
     * @param secretKey the secret part
     * @param sessionToken the token of temporary credentials
     */
    public record Credentials(String accessKey, String secretKey, Optional<String> sessionToken) {
        @Override
        public String toString() {
            return "Credentials[" + accessKey + ", secret not shown]";
        }
    }
}
