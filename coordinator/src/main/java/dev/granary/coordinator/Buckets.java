package dev.granary.coordinator;

import dev.granary.coordinator.config.BucketLayer;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.s3.BucketTier;
import dev.granary.s3.PackedBucket;
import dev.granary.s3.S3Config;
import dev.granary.s3.pack.Packs;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Makes the bucket tiers that a configuration names. */
final class Buckets {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private Buckets() {}

    /** Where this machine keeps what it learns of buckets; empty where there is no local tier. */
    static Optional<Path> directory(GranaryConfig config) {
        return config.capacityBytes() == 0 ? Optional.empty() : Optional.of(config.directory());
    }

    /** One tier for each bucket, in their order, opened without asking any. */
    static List<BucketTier> open(GranaryConfig config) throws ConfigException {
        List<BucketTier> tiers = new ArrayList<>();
        for (BucketLayer layer : config.buckets()) {
            tiers.add(open(layer, directory(config)));
        }
        return tiers;
    }

    /** The tier of that bucket, opened without asking it. What it learns of packs is kept in {@code directory}, where one is given. */
    static BucketTier open(BucketLayer layer, Optional<Path> directory) throws ConfigException {
        return BucketTier.open(settings(layer, directory).build());
    }

    /** The same, for work that nobody waits for as for a look-up: a request that makes progress has half a minute, and all that belong to one twice that. */
    static BucketTier patient(BucketLayer layer) throws ConfigException {
        return BucketTier.open(settings(layer, Optional.empty()).requestTimeout(PATIENCE).loadDeadline(PATIENCE.multipliedBy(2)).build());
    }

    /** The same, for what moves whole packs. */
    static PackedBucket packed(BucketLayer layer, Optional<Path> directory) throws ConfigException {
        return PackedBucket.open(settings(layer, directory).build());
    }

    private static S3Config.Builder settings(BucketLayer layer, Optional<Path> directory) throws ConfigException {
        try {
            S3Config.Builder settings = S3Config.builder(layer.location()).client(layer.client()).access(layer.access())
                    .producer("granary " + Version.NUMBER);
            layer.endpoint().ifPresent(settings::endpoint);
            layer.region().ifPresent(settings::region);
            directory.ifPresent(local -> settings.shelves(Packs.shelves(local, layer.name())));
            return settings;
        } catch (IllegalArgumentException e) {
            throw new ConfigException(e.getMessage() + ".");
        }
    }
}
