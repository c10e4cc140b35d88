package dev.granary.coordinator.tier;

import dev.granary.cache.support.Warnings;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.local.LocalDirectoryException;
import dev.granary.local.LocalTier;
import dev.granary.local.LocalTierConfig;
import dev.granary.s3.BucketTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.config.S3ConfigBuilder;
import dev.granary.s3.pack.PackReader;

import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/** Factory of the tiers that a configuration names: the local tier and buckets. */
public final class TierFactory {
    private static final Duration BACKGROUND_TIMEOUT = Duration.ofSeconds(30);
    private static final Duration BACKGROUND_STALL = Duration.ofSeconds(5);

    private TierFactory() {}

    /** Returns the directory of cached bucket state; empty if there is no local tier. */
    public static Optional<Path> directory(GranaryConfig config) {
        return config.capacityBytes() == 0 ? Optional.empty() : Optional.of(config.directory());
    }

    /**
     * Opens the local tier. If it uses more than the configured capacity, the oldest entries are
     * evicted.
     *
     * @throws LocalDirectoryException if its directory cannot be used
     */
    public static LocalTier local(GranaryConfig config) throws LocalDirectoryException {
        return local(config, config.capacityBytes(), InstantSource.system());
    }

    /**
     * Opens the local tier for tools, without eviction: the programs that fill the directory may be
     * configured with another capacity.
     *
     * @throws LocalDirectoryException if its directory cannot be used
     */
    public static LocalTier localWithoutEviction(GranaryConfig config)
            throws LocalDirectoryException {
        return local(config, Long.MAX_VALUE, InstantSource.system());
    }

    static LocalTier local(GranaryConfig config, long capacityBytes, InstantSource clock)
            throws LocalDirectoryException {
        return LocalTier.open(LocalTierConfig.builder(config.directory())
                .capacityBytes(capacityBytes)
                .policy(config.eviction())
                .clock(clock)
                .build());
    }

    /**
     * Creates or checks the directory of the local tier.
     *
     * @throws LocalDirectoryException if it cannot be used
     */
    public static void prepareDirectory(GranaryConfig config) throws LocalDirectoryException {
        LocalTier.prepareDirectory(config.directory());
    }

    /**
     * Returns {@code config}, without the local tier if its directory cannot be used: what the
     * machine lacks must not stop a program. The cause is logged.
     */
    public static GranaryConfig usable(GranaryConfig config) {
        try {
            if (config.capacityBytes() != 0) {
                prepareDirectory(config);
            }
            return config;
        } catch (LocalDirectoryException e) {
            Warnings.warn(
                    "directory " + e.getMessage(),
                    "No kernel is stored on this machine: " + e.getMessage());
            return config.withoutLocalTier();
        }
    }

    /** Returns an opener of the buckets of {@code config} for lookups. */
    public static Tiers.BucketOpener buckets(GranaryConfig config) {
        return bucket -> bucket(bucket, directory(config));
    }

    /**
     * Opens the tier of a bucket. No request is sent. Pack indexes are cached in {@code directory},
     * if present.
     */
    public static BucketTier bucket(BucketConfig layer, Optional<Path> directory)
            throws ConfigException {
        return BucketTier.open(settings(layer, directory).build());
    }

    /**
     * Opens the tier of a bucket for background work: 30 s per request that makes progress, and 60
     * s for all requests of one load.
     */
    public static BucketTier bucketForBackground(BucketConfig layer) throws ConfigException {
        return BucketTier.open(settings(layer, Optional.empty())
                .requestTimeout(BACKGROUND_TIMEOUT)
                .stallTimeout(BACKGROUND_STALL)
                .loadDeadline(BACKGROUND_TIMEOUT.multipliedBy(2))
                .build());
    }

    /** Opens a bucket for transfers of whole packs. */
    public static BulkBucket bulk(BucketConfig layer, Optional<Path> directory)
            throws ConfigException {
        return BulkBucket.open(settings(layer, directory).build());
    }

    private static S3ConfigBuilder settings(BucketConfig layer, Optional<Path> directory)
            throws ConfigException {
        if (!layer.client().isPresent()) {
            throw missingClient(layer);
        }
        try {
            S3ConfigBuilder settings = S3Config.builder(layer.location())
                    .client(layer.client())
                    .access(layer.access())
                    .producer("granary " + GranaryConfig.VERSION);
            layer.endpoint().ifPresent(settings::endpoint);
            layer.region().ifPresent(settings::region);
            directory.ifPresent(local ->
                    settings.packIndexCache(PackReader.indexDirectory(local, layer.name())));
            return settings;
        } catch (IllegalArgumentException e) {
            throw new ConfigException(e.getMessage() + ".");
        }
    }

    private static ConfigException missingClient(BucketConfig layer) {
        String present = Arrays.stream(S3ClientLibrary.values())
                .filter(S3ClientLibrary::isPresent)
                .map(library -> ", or set the client to " + name(library))
                .collect(Collectors.joining());
        return new ConfigException("The client of " + layer.name() + " is " + name(layer.client())
                + ", but its library is missing; add " + layer.client().artifact()
                + " to the program" + present + ".");
    }

    private static String name(S3ClientLibrary library) {
        return library.name().toLowerCase(Locale.ROOT);
    }
}
