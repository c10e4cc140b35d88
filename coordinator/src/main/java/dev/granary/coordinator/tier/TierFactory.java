package dev.granary.coordinator.tier;

import dev.granary.cache.PersistentCache;
import dev.granary.cache.support.Warnings;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.BucketCredentials;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.local.LocalDirectoryException;
import dev.granary.local.LocalTier;
import dev.granary.local.LocalTierConfig;
import dev.granary.local.SharedDirectory;
import dev.granary.s3.BucketTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.config.S3ConfigBuilder;
import dev.granary.s3.pack.PackReader;
import dev.granary.s3.store.ConnectionSettings;

import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Factory of the tiers that a configuration names: the local tier, buckets and shared directories.
 */
public final class TierFactory {
    private static final Duration BACKGROUND_TIMEOUT = Duration.ofSeconds(30);
    private static final Duration BACKGROUND_STALL = Duration.ofSeconds(5);

    private TierFactory() {}

    /** Returns the directory of cached bucket state; empty if there is no local tier. */
    public static Optional<Path> directory(GranaryConfig config) {
        return config.capacityBytes() == 0 ? Optional.empty() : Optional.of(config.directory());
    }

    /** Opens the local tier. If it is above its capacity, the oldest entries are evicted. */
    public static LocalTier local(GranaryConfig config) throws LocalDirectoryException {
        return local(config, config.capacityBytes(), InstantSource.system());
    }

    /** Opens the local tier for tools, without eviction: programs may have another capacity. */
    public static LocalTier localWithoutEviction(GranaryConfig config)
            throws LocalDirectoryException {
        return local(config, Long.MAX_VALUE, InstantSource.system());
    }

    static LocalTier local(GranaryConfig config, long capacityBytes, InstantSource clock)
            throws LocalDirectoryException {
        return LocalTier.open(LocalTierConfig.builder(config.directory())
                .capacityBytes(capacityBytes)
                .policy(config.eviction())
                .trust(config.localTrust())
                .clock(clock)
                .build());
    }

    /**
     * Returns {@code config}, without the local tier if its directory cannot be used: what the
     * machine lacks must not stop a program. The cause is logged.
     */
    public static GranaryConfig usable(GranaryConfig config) {
        try {
            if (config.capacityBytes() != 0) {
                LocalTier.prepareDirectory(config.directory());
            }
            return config;
        } catch (LocalDirectoryException e) {
            Warnings.warn(
                    "directory " + e.getMessage(),
                    "No kernel is stored on this machine: " + e.getMessage());
            return config.withoutLocalTier();
        }
    }

    /** Opens a layer for lookups as {@link #bucket} does; a directory is not read. */
    public static PersistentCache open(BucketConfig layer, Optional<Path> directory)
            throws ConfigException {
        return layer instanceof BucketConfig.Directory shared
                ? shared(shared)
                : bucket(layer, directory);
    }

    /** Opens a layer for background work as {@link #bucketForBackground} does. */
    public static PersistentCache openForBackground(BucketConfig layer) throws ConfigException {
        return layer instanceof BucketConfig.Directory shared
                ? shared(shared)
                : bucketForBackground(layer);
    }

    /** Opens a shared directory, which is neither read nor created. */
    public static SharedDirectory shared(BucketConfig.Directory layer) {
        return new SharedDirectory(layer.path(), layer.isWritable(), layer.trust());
    }

    /**
     * Opens the tier of a bucket. No request is sent. Pack indexes are cached in {@code directory},
     * if present.
     *
     * @throws ConfigException if the client library is missing, or the layer is no bucket
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
                .loadDeadline(BACKGROUND_TIMEOUT.plus(BACKGROUND_TIMEOUT))
                .build());
    }

    /** Opens a bucket for transfers of whole packs. */
    public static BulkBucket bulk(BucketConfig layer, Optional<Path> directory)
            throws ConfigException {
        return BulkBucket.open(settings(layer, directory).build());
    }

    private static S3ConfigBuilder settings(BucketConfig layer, Optional<Path> directory)
            throws ConfigException {
        if (!(layer instanceof BucketConfig.S3 bucket)) {
            throw new ConfigException(layer.name()
                    + " is a directory, which has no packs; name a bucket, such as"
                    + " s3://kernels/team.");
        }
        if (!bucket.client().isPresent()) {
            throw missingClient(bucket);
        }
        try {
            S3ConfigBuilder settings = S3Config.builder(bucket.location())
                    .client(bucket.client())
                    .access(bucket.access())
                    .trust(bucket.trust())
                    .producer("granary " + GranaryConfig.VERSION);
            bucket.endpoint().ifPresent(settings::endpoint);
            bucket.region().ifPresent(settings::region);
            settings.options(bucket.options());
            bucket.credentials()
                    .ifPresent(source -> settings.credentials(() -> credentials(source.get())));
            directory.ifPresent(local ->
                    settings.packIndexCache(PackReader.indexDirectory(local, bucket.name())));
            return settings;
        } catch (IllegalArgumentException e) {
            throw new ConfigException(e.getMessage() + ".");
        }
    }

    private static ConnectionSettings.Credentials credentials(BucketCredentials given) {
        return new ConnectionSettings.Credentials(
                given.accessKey(), given.secretKey(), given.sessionToken());
    }

    private static ConfigException missingClient(BucketConfig.S3 layer) {
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
