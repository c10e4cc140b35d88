package dev.granary.coordinator;

import dev.granary.coordinator.config.BucketLayer;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.s3.BucketTier;
import dev.granary.s3.S3Config;
import java.util.ArrayList;
import java.util.List;

/** Makes the bucket tiers that a configuration names. */
final class Buckets {
    private Buckets() {}

    /** One tier for each bucket, in their order, opened without asking any. */
    static List<BucketTier> open(GranaryConfig config) throws ConfigException {
        List<BucketTier> tiers = new ArrayList<>();
        for (BucketLayer layer : config.buckets()) {
            tiers.add(open(layer));
        }
        return tiers;
    }

    /** The tier of that bucket, opened without asking it. */
    static BucketTier open(BucketLayer layer) throws ConfigException {
        try {
            S3Config.Builder settings = S3Config.builder(layer.location()).client(layer.client()).access(layer.access())
                    .producer("granary " + Version.NUMBER);
            layer.endpoint().ifPresent(settings::endpoint);
            layer.region().ifPresent(settings::region);
            return BucketTier.open(settings.build());
        } catch (IllegalArgumentException e) {
            throw new ConfigException(e.getMessage() + ".");
        }
    }
}
