package dev.granary.coordinator;

import dev.granary.coordinator.config.BucketLayer;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.s3.BucketTier;
import dev.granary.s3.Finding;
import java.util.Optional;

/** Tries a bucket with one request before anything is done for it that takes long. */
public final class BucketTrial {
    private BucketTrial() {}

    /**
     * Sends one small request that needs the server, the credentials and the bucket.
     *
     * @return the cause and the cure in one line; empty where the bucket can be used
     * @throws ConfigException if it cannot be opened as configured
     */
    public static Optional<String> problem(BucketLayer bucket) throws ConfigException {
        try (BucketTier tier = Buckets.patient(bucket)) {
            return tier.reach().map(problem -> problem.cause() + "; " + problem.cure());
        }
    }
}
