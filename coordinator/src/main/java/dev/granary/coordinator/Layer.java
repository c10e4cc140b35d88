package dev.granary.coordinator;

import dev.granary.cache.Id;
import dev.granary.coordinator.config.BucketLayer;
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
record Layer(BucketLayer bucket, Tier tier, Optional<Outbox> outbox, List<Id> inherited) {
    String name() {
        return bucket.name();
    }
}
