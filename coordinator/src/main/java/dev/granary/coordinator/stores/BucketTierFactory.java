package dev.granary.coordinator.stores;

import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.LibraryVersion;
import dev.granary.s3.BucketTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.pack.PackReader;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Makes the bucket tiers that a configuration names. */
public final class BucketTierFactory {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private BucketTierFactory() {}

    /** Where this machine keeps what it learns of buckets; empty where there is no local tier. */
    public static Optional<Path> directory(GranaryConfig config) {
        return config.capacityBytes() == 0 ? Optional.empty() : Optional.of(config.directory());
    }

    /** One tier for each bucket, in their order, opened without asking any. */
    static List<BucketTier> open(GranaryConfig config) throws ConfigException {
        List<BucketTier> tiers = new ArrayList<>();
        for (BucketConfig layer : config.buckets()) {
            tiers.add(open(layer, directory(config)));
        }
        return tiers;
    }

    /** The tier of that bucket, opened without asking it. What it learns of packs is kept in {@code directory}, where one is given. */
    public static BucketTier open(BucketConfig layer, Optional<Path> directory) throws ConfigException {
        return BucketTier.open(settings(layer, directory).build());
    }

    /** The same, for work that nobody waits for as for a look-up: a request that makes progress has half a minute, and all that belong to one twice that. */
    public static BucketTier patient(BucketConfig layer) throws ConfigException {
        return BucketTier.open(settings(layer, Optional.empty()).requestTimeout(PATIENCE).loadDeadline(PATIENCE.multipliedBy(2)).build());
    }

    /** The same, for what moves whole packs. */
    public static BulkBucket packed(BucketConfig layer, Optional<Path> directory) throws ConfigException {
        return BulkBucket.open(settings(layer, directory).build());
    }

    private static S3Config.Builder settings(BucketConfig layer, Optional<Path> directory) throws ConfigException {
        try {
            S3Config.Builder settings = S3Config.builder(layer.location()).client(layer.client()).access(layer.access())
                    .producer("granary " + LibraryVersion.NUMBER);
            layer.endpoint().ifPresent(settings::endpoint);
            layer.region().ifPresent(settings::region);
            directory.ifPresent(local -> settings.packIndexCache(PackReader.indexDirectory(local, layer.name())));
            return settings;
        } catch (IllegalArgumentException e) {
            throw new ConfigException(e.getMessage() + ".");
        }
    }
}
