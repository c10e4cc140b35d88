package dev.granary.cli.entry;

import dev.granary.cli.option.BucketOptions;
import dev.granary.cli.option.LocalOptions;
import dev.granary.cli.option.StoreOptions;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.s3.BucketTier;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** The writable layer on which a command works: by default the first one. */
public final class LayerOptions {
    @Parameters(
            arity = "0..1",
            paramLabel = "PLACE",
            description = "s3://NAME/PREFIX, or file:///PATH to collect; default: the first"
                    + " writable layer of GRANARY_BUCKET")
    private @Nullable String place;

    @Mixin
    private LocalOptions local = new LocalOptions();

    @Mixin
    private BucketOptions buckets = new BucketOptions();

    /** Returns the layer, a bucket or a shared directory. */
    public BucketConfig layer() throws ConfigException {
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
    public BucketTier open(BucketConfig layer) throws ConfigException {
        return TierFactory.bucket(layer, TierFactory.directory(local.builder().build()));
    }
}
