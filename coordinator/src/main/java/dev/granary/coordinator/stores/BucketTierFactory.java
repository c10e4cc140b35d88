package dev.granary.coordinator.stores;

import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.LibraryVersion;
import dev.granary.s3.BucketTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.config.S3ConfigBuilder;
import dev.granary.s3.pack.PackReader;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/** Factory of the bucket tiers that a configuration names. */
public final class BucketTierFactory {
    private static final Duration BACKGROUND_TIMEOUT = Duration.ofSeconds(30);
    private static final Duration BACKGROUND_STALL = Duration.ofSeconds(5);

    private BucketTierFactory() {}

    /** Returns the directory of cached bucket state; empty if there is no local tier. */
    public static Optional<Path> directory(GranaryConfig config) {
        return config.capacityBytes() == 0 ? Optional.empty() : Optional.of(config.directory());
    }

    /** Opens one tier for each bucket, in order. No request is sent. */
    static List<BucketTier> open(GranaryConfig config) throws ConfigException {
        List<BucketTier> tiers = new ArrayList<>();
        try {
            for (BucketConfig layer : config.buckets()) {
                tiers.add(BucketTier.open(
                        lengthen(settings(layer, directory(config)), config.bucketWait())
                                .build()));
            }
        } catch (ConfigException | RuntimeException | Error e) {
            tiers.forEach(BucketTier::close);
            throw e;
        }
        return tiers;
    }

    /**
     * Lengthens the limits of requests and of one load, so that lookups may use the whole wait. A
     * load sends no request that could end after its deadline, so the deadline has room for one
     * request beyond the wait.
     */
    private static S3ConfigBuilder lengthen(S3ConfigBuilder settings, Duration bucketWait) {
        Duration request =
                max(S3Config.DEFAULT_REQUEST_TIMEOUT, min(bucketWait, BACKGROUND_TIMEOUT));
        if (bucketWait.compareTo(GranaryConfig.DEFAULT_BUCKET_WAIT) > 0) {
            settings.requestTimeout(request).stallTimeout(request).slowCall(request);
        }
        return settings.loadDeadline(max(S3Config.DEFAULT_LOAD_DEADLINE, bucketWait.plus(request)));
    }

    private static Duration max(Duration one, Duration other) {
        return one.compareTo(other) >= 0 ? one : other;
    }

    private static Duration min(Duration one, Duration other) {
        return one.compareTo(other) <= 0 ? one : other;
    }

    /**
     * Opens the tier of a bucket. No request is sent. Pack indexes are cached in {@code directory},
     * if present.
     */
    public static BucketTier open(BucketConfig layer, Optional<Path> directory)
            throws ConfigException {
        return BucketTier.open(settings(layer, directory).build());
    }

    /**
     * Opens the tier of a bucket for background work: 30 s per request that makes progress, and 60
     * s for all requests of one load.
     */
    public static BucketTier openForBackground(BucketConfig layer) throws ConfigException {
        return BucketTier.open(settings(layer, Optional.empty())
                .requestTimeout(BACKGROUND_TIMEOUT)
                .stallTimeout(BACKGROUND_STALL)
                .loadDeadline(BACKGROUND_TIMEOUT.multipliedBy(2))
                .build());
    }

    /** Opens a bucket for transfers of whole packs. */
    public static BulkBucket openBulk(BucketConfig layer, Optional<Path> directory)
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
                    .producer("granary " + LibraryVersion.NUMBER);
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
