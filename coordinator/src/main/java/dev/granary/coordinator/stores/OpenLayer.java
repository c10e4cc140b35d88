package dev.granary.coordinator.stores;

import dev.granary.cache.Id;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.session.UploadOutbox;
import java.util.List;
import java.util.Optional;

/**
 * One bucket, opened.
 *
 * @param bucket how it was configured
 * @param tier the bucket itself
 * @param outbox what is to be uploaded to it; empty where nothing is, or cannot be written
 * @param inherited what ended processes left to be uploaded to it
 */
public record OpenLayer(BucketConfig bucket, CountingCache tier, Optional<UploadOutbox> outbox, List<Id> inherited) {
    public String name() {
        return bucket.name();
    }
}
