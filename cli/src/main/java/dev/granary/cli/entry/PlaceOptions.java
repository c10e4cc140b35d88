package dev.granary.cli.entry;

import dev.granary.cli.option.StoreOptions;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.local.LocalDirectoryException;
import dev.granary.s3.BucketTier;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

import java.util.Optional;

/** The place on which a command works: by default the local directory. */
final class PlaceOptions {
    @Parameters(
            arity = "0..1",
            paramLabel = "PLACE",
            description =
                    "a directory, s3://NAME/PREFIX or file:///PATH; default: the local directory")
    private @Nullable String place;

    @Mixin
    private StoreOptions.Local local = new StoreOptions.Local();

    @Mixin
    private StoreOptions.Buckets buckets = new StoreOptions.Buckets();

    /** Opens the place to read from it. A directory may be that of another user. */
    Place open() throws ConfigException, LocalDirectoryException {
        if (place != null && local.isGiven()) {
            throw new ConfigException(
                    "--dir and --capacity have no effect beside a place; give one of them");
        }
        GranaryConfigBuilder settings = buckets.builder(place == null ? "" : place);
        return place == null ? Place.local(local.builder().build()) : Place.source(place, settings);
    }

    /** Opens the bucket of a fleet: the place, else the first configured bucket. */
    BucketTier openBucket() throws ConfigException {
        return openBucket(place, local, buckets);
    }

    /** Opens the bucket that {@code place} names, else the first configured one. */
    static BucketTier openBucket(
            @Nullable String place, StoreOptions.Local local, StoreOptions.Buckets buckets)
            throws ConfigException {
        GranaryConfigBuilder settings = buckets.set(local.builder());
        return TierFactory.bucketForBackground(
                place == null ? firstBucket(settings.build()) : Place.layer(place, settings));
    }

    static BucketConfig.S3 firstBucket(GranaryConfig config) throws ConfigException {
        return config.buckets().stream()
                .filter(BucketConfig.S3.class::isInstance)
                .map(BucketConfig.S3.class::cast)
                .findFirst()
                .orElseThrow(() -> new ConfigException("No bucket is configured; name one, such as"
                        + " s3://kernels/team, or set GRANARY_BUCKET"));
    }

    /** Opens the place to remove entries; {@code advice} is the message for a bucket. */
    DirectoryPlace openToRemove(String advice) throws ConfigException, LocalDirectoryException {
        Place opened = open();
        if (opened instanceof DirectoryPlace directory) {
            if (place != null && Place.isLayer(place)) {
                Place.writableLayer(place, buckets.builder(place));
            }
            return directory;
        }
        opened.close();
        throw new ConfigException(advice);
    }

    /**
     * Returns the configuration of the place; empty if it is a bucket or a shared directory, which
     * have neither a capacity nor counters.
     */
    Optional<GranaryConfig> config() throws ConfigException {
        GranaryConfigBuilder builder = local.builder();
        if (place == null) {
            return Optional.of(builder.build());
        }
        return Place.isLayer(place)
                ? Optional.empty()
                : Optional.of(builder.directory(place).build());
    }

    /** The writable layer on which a command works: by default the first one. */
    static final class Layer {
        @Parameters(
                arity = "0..1",
                paramLabel = "PLACE",
                description = "s3://NAME/PREFIX, or file:///PATH to collect; default: the first"
                        + " writable layer of GRANARY_BUCKET")
        private @Nullable String place;

        @Mixin
        private StoreOptions.Local local = new StoreOptions.Local();

        @Mixin
        private StoreOptions.Buckets buckets = new StoreOptions.Buckets();

        BucketConfig layer() throws ConfigException {
            return place == null
                    ? StoreOptions.firstWritable(
                            buckets.set(local.builder()).build(),
                            "give s3://NAME/PREFIX or set GRANARY_BUCKET.")
                    : Place.writableLayer(place, buckets.builder(place));
        }

        /**
         * Opens a bucket, with what the local directory has of its packs.
         *
         * @throws ConfigException if the layer is a directory
         */
        BucketTier open(BucketConfig layer) throws ConfigException {
            return TierFactory.bucket(
                    layer, TierFactory.directory(local.builder().build()));
        }
    }
}
