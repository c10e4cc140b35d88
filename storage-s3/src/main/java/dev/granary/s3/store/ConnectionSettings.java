package dev.granary.s3.store;

import java.net.URI;
import java.time.Duration;
import java.util.Optional;

/**
 * How to reach one bucket: all that a transport is made from.
 *
 * @param bucket its name
 * @param endpoint the server; empty for Amazon S3 itself. With an endpoint, buckets are addressed by path
 * @param region the region that requests are signed for; empty to ask the environment, and {@code us-east-1} where an endpoint is given
 * @param credentials who asks; empty for the usual chain of the AWS SDK (environment, profile, web identity, instance)
 * @param maxConnections how many requests may be under way at once
 * @param connectTimeout how long a connection may take
 * @param requestTimeout how long a request may take as a whole, body included
 * @param stallTimeout how long a request may go without progress, as {@link StallDetector} defines it; the first byte of the answer included
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
    /** The region that requests to an endpoint are signed for where nobody chose one. */
    public static final String ENDPOINT_REGION = "us-east-1";

    /**
     * An access key and its secret. The text form holds no secret.
     *
     * @param accessKey the public half
     * @param secretKey the secret half
     */
    public record Credentials(String accessKey, String secretKey) {
        @Override
        public String toString() {
            return "Credentials[" + accessKey + ", secret not shown]";
        }
    }
}
