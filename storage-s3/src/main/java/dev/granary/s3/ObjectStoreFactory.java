package dev.granary.s3;

import dev.granary.s3.aws.AwsTransport;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.minio.MinioTransport;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.TrafficCounter;

/** Makes the object store of a configuration. */
public final class ObjectStoreFactory {
    private ObjectStoreFactory() {}

    /**
     * The bare transport to a bucket, without the layers of {@link BucketTier}. Sends nothing, and takes up to a second, of which most is
     * class loading.
     *
     * @throws IllegalStateException if the client cannot be set up, with what to do
     */
    public static ObjectStore open(S3Config config) {
        return open(config, new TrafficCounter());
    }

    /** As {@link #open(S3Config)}; its bytes are told to {@code traffic}. */
    static ObjectStore open(S3Config config, TrafficCounter traffic) {
        return switch (config.client()) {
            case AWS -> AwsTransport.open(config.connection(), traffic);
            case MINIO -> MinioTransport.open(config.connection(), traffic);
        };
    }
}
