package dev.granary.coordinator.stores;

import dev.granary.cache.Id;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.session.UploadOutbox;
import dev.granary.s3.BucketTier;

import java.util.List;
import java.util.Optional;

/**
 * An open bucket.
 *
 * @param bucket its configuration
 * @param tier the bucket tier
 * @param outbox the pending uploads to it; empty if the bucket is read-only or the outbox cannot be
 *     written
 * @param inherited the uploads to it that ended processes left
 */
public record OpenLayer(
        BucketConfig bucket,
        CountingCache tier,
        Optional<UploadOutbox> outbox,
        List<Id> inherited) {
    public String name() {
        return bucket.name();
    }

    /** Returns the tier as a bucket tier; empty if it is of another implementation. */
    public Optional<BucketTier> bucketTier() {
        return tier.cache() instanceof BucketTier bucketTier
                ? Optional.of(bucketTier)
                : Optional.empty();
    }
}
