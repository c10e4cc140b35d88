package dev.granary.coordinator.stores;

import dev.granary.cache.Id;
import dev.granary.cache.PersistentCache;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.dispatch.EventDispatcher;
import dev.granary.coordinator.session.UploadOutbox;
import dev.granary.s3.BucketTier;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * An open layer: a bucket, or a cache that the application plugged in.
 *
 * @param name its name among all layers
 * @param isWritable whether entries may be published there
 * @param tier the tier with its counters
 * @param outbox the pending uploads to it; empty if the layer is read-only or the outbox cannot be
 *     written
 * @param inherited the uploads to it that ended processes left
 */
public record OpenLayer(
        String name,
        boolean isWritable,
        CountingCache tier,
        Optional<UploadOutbox> outbox,
        List<Id> inherited) {
    /** Returns the layer of a configured bucket, without an outbox. */
    public static OpenLayer of(BucketConfig bucket, PersistentCache tier) {
        return new OpenLayer(
                bucket.name(),
                bucket.isWritable(),
                new CountingCache(bucket.name(), tier),
                Optional.empty(),
                List.of());
    }

    /**
     * Returns the layer of a plugged cache, without an outbox.
     *
     * @param bucketWait the configured wait for a layer
     */
    public static OpenLayer plugged(
            String name, boolean isWritable, PersistentCache cache, Duration bucketWait) {
        return new OpenLayer(
                name,
                isWritable,
                new CountingCache(name, CheckedCache.asLayer(name, cache, bucketWait)),
                Optional.empty(),
                List.of());
    }

    /** Returns the same layer with other receivers of events. */
    OpenLayer withEvents(EventDispatcher events) {
        return new OpenLayer(name, isWritable, tier.withEvents(events), outbox, inherited);
    }

    /** Returns the tier as a bucket tier; empty if it is of another implementation. */
    public Optional<BucketTier> bucketTier() {
        return tier.cache() instanceof BucketTier bucketTier
                ? Optional.of(bucketTier)
                : Optional.empty();
    }
}
