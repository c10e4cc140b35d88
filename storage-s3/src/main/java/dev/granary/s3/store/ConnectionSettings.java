package dev.granary.s3.store;

import java.net.URI;
import java.time.Duration;
import java.util.Optional;

/**
 * Settings of the connection to one bucket; a transport needs nothing else.
 *
 * @param bucket the name of the bucket
 * @param endpoint the server, with path-style addressing; empty for Amazon S3
 * @param region the region that requests are signed for; empty for that of the environment,
 *     {@code us-east-1} with an endpoint
 * @param credentials the credentials; empty for the AWS SDK's default chain (environment, profile,
 *     web identity, instance)
 * @param maxConnections the maximum number of concurrent requests
 * @param connectTimeout the longest time to connect
 * @param requestTimeout the longest time of one request, including its body
 * @param stallTimeout the longest time of a request without progress, as {@link StallDetector}
 *     defines it; it includes the wait for the first byte of the response
 */
public record ConnectionSettings(
        String bucket,
        Optional<URI> endpoint,
        Optional<String> region,
        Optional<Credentials> credentials,
        int maxConnections,
        Duration connectTimeout,
        Duration requestTimeout,
        Duration stallTimeout) {
    /** The default region for requests to an endpoint. */
    public static final String ENDPOINT_REGION = "us-east-1";

    /**
     * An access key and its secret. {@link #toString} omits the secret.
     *
     * @param accessKey the public part
     * @param secretKey the secret part
     */
    public record Credentials(String accessKey, String secretKey) {
        @Override
        public String toString() {
            return "Credentials[" + accessKey + ", secret not shown]";
        }
    }
}
