package dev.granary.cli.option;

import dev.granary.cli.place.Place;
import dev.granary.cli.place.Places;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.local.LocalDirectoryException;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** The place on which a command works: by default the local directory. */
public final class PlaceOptions {
    @Parameters(
            arity = "0..1",
            paramLabel = "PLACE",
            description =
                    "a directory, s3://NAME/PREFIX or file:///PATH; default: the local directory")
    private @Nullable String place;

    @Mixin
    private LocalOptions local = new LocalOptions();

    @Mixin
    private BucketOptions buckets = new BucketOptions();

    /**
     * Returns true if the place is a bucket.
     *
     * @throws UsageException if an option has no effect on the place
     */
    public boolean isBucket() throws ConfigException, UsageException {
        boolean isBucket = place != null && Places.isBucket(place);
        if (!isBucket && buckets.isGiven()) {
            throw new UsageException("--endpoint and --client have no effect on a directory; name a"
                    + " bucket, such as s3://kernels/team");
        }
        if (place != null && local.isGiven()) {
            throw new UsageException(
                    "--dir and --capacity have no effect beside a place; give one of them");
        }
        return isBucket;
    }

    /** Returns the configuration, with the place as its local directory if it is a directory. */
    public GranaryConfig config() throws ConfigException, UsageException {
        GranaryConfigBuilder builder = local.builder();
        return (place == null || isBucket() ? builder : builder.directory(place)).build();
    }

    /** Opens the place to read from it. A directory may be that of another user. */
    public Place open() throws ConfigException, LocalDirectoryException, UsageException {
        boolean isBucket = isBucket();
        if (place == null) {
            return Places.local(config());
        }
        return isBucket
                ? Places.layer(place, buckets.builder())
                : Places.source(place, buckets.builder());
    }
}
