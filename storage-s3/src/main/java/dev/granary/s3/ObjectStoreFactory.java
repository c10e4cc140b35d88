package dev.granary.s3;

import dev.granary.s3.aws.AwsTransport;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.minio.MinioTransport;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.TrafficCounter;

/** Creates the object store of a configuration. */
public final class ObjectStoreFactory {
    private ObjectStoreFactory() {}

    /**
     * Opens the bare transport to a bucket, without the deadlines, retries and circuit breaker of
     * {@link BucketTier}. Sends nothing, and takes up to 1 s, mostly for class loading.
     *
     * @throws IllegalStateException if the client cannot be created; the message states the remedy
     */
    public static ObjectStore open(S3Config config) {
        return open(config, new TrafficCounter());
    }

    /** As {@link #open(S3Config)}; {@code traffic} counts the bytes received. */
    static ObjectStore open(S3Config config, TrafficCounter traffic) {
        if (!config.client().isPresent()) {
            throw new IllegalStateException("The client library of bucket "
                    + config.connection().bucket() + " is missing: add "
                    + config.client().artifact() + " to the program");
        }
        return switch (config.client()) {
            case AWS -> AwsTransport.open(config.connection(), traffic);
            case MINIO -> MinioTransport.open(config.connection(), traffic);
        };
    }
}
