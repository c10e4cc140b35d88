package dev.granary.coordinator.admin;

import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.stores.BucketTierFactory;
import dev.granary.s3.BucketTier;

import java.util.Optional;

/** Test of a bucket with one request, before a long operation uses it. */
public final class BucketTrial {
    private BucketTrial() {}

    /**
     * Sends one small request, which needs the server, the credentials and the bucket.
     *
     * @return the cause and the cure in one line; empty if the bucket can be used
     * @throws ConfigException if the bucket cannot be opened as configured
     */
    public static Optional<String> problem(BucketConfig bucket) throws ConfigException {
        try (BucketTier tier = BucketTierFactory.openForBackground(bucket)) {
            return tier.reach().map(problem -> problem.cause() + "; " + problem.cure());
        }
    }
}
