package dev.granary.coordinator.admin;

import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.stores.BucketTierFactory;
import dev.granary.s3.BucketTier;
import dev.granary.s3.probe.BucketFinding;
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
    public static Optional<String> problem(BucketConfig bucket) throws ConfigException {
        try (BucketTier tier = BucketTierFactory.patient(bucket)) {
            return tier.reach().map(problem -> problem.cause() + "; " + problem.cure());
        }
    }
}
