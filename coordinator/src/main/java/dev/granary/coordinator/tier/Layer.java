package dev.granary.coordinator.tier;

import dev.granary.coordinator.statistics.GranaryStatistics.LayerStatistics;
import dev.granary.s3.BucketTier;

import java.time.Duration;
import java.util.Optional;

/**
 * A remote tier: a bucket, or a cache that the application plugged in.
 *
 * @param position the position in the order of lookups, counted from 0
 * @param tier the tier
 * @param bounds the limits of the tier, which know its failures
 * @param isWritable true if entries may be published there
 * @param bucket the bucket; empty if the tier is of another implementation
 */
public record Layer(
        int position,
        CountedTier tier,
        BoundedTier bounds,
        boolean isWritable,
        Optional<BucketTier> bucket) {
    /** Returns the name of the layer. */
    public String name() {
        return tier.name();
    }

    /** Returns a snapshot of the counters, without the requests of uploads in packs. */
    public LayerStatistics statistics() {
        return new LayerStatistics(
                name(),
                tier.statistics(),
                tier.skipped(),
                bounds.failure(),
                bounds.late(),
                bucket.map(opened -> opened.traffic().quiet()).orElse(Duration.ZERO),
                bucket.map(LayerStatistics.Requests::of));
    }
}
