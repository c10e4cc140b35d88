package dev.granary.cli.option;

import dev.granary.cli.place.Place;
import dev.granary.cli.place.Places;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.toml.SafeText;

import picocli.CommandLine.Option;

import java.util.Optional;

/** The option that selects the tier to inspect. */
public final class TierOption {
    private static final String LOCAL = "local";
    private static final String BUCKET = "bucket";
    private static final String ADDRESS = "s3://";

    @Option(
            names = "--tier",
            paramLabel = "local|bucket|s3://NAME/PREFIX",
            defaultValue = LOCAL,
            description =
                    "the tier to inspect: local, bucket (the first one), or one of the configured"
                            + " buckets (default: ${DEFAULT-VALUE})")
    private String tier = LOCAL;

    /**
     * Opens the tier. Options for buckets are rejected for the local tier, since they would have no
     * effect.
     */
    public Place open(StoreOptions stores) throws ConfigException, UsageException {
        Optional<BucketConfig> bucket = bucket(stores);
        return bucket.isPresent() ? Places.of(bucket.get()) : Places.local(stores.config());
    }

    /** Opens the tier for a command that uses the buckets with any tier. */
    public Place openBesideBuckets(StoreOptions stores) throws ConfigException, UsageException {
        GranaryConfig config = stores.config();
        Optional<BucketConfig> bucket = selected(config);
        return bucket.isPresent() ? Places.of(bucket.get()) : Places.local(config);
    }

    /** Returns the bucket; empty for the local tier, for which options for buckets are rejected. */
    private Optional<BucketConfig> bucket(StoreOptions stores)
            throws ConfigException, UsageException {
        GranaryConfig config = stores.config();
        if (isLocal() && stores.hasBucketOption()) {
            throw new UsageException(
                    "--bucket, --endpoint and --client have no effect with --tier local; give"
                            + " --tier bucket to inspect the bucket");
        }
        return selected(config);
    }

    private Optional<BucketConfig> selected(GranaryConfig config)
            throws ConfigException, UsageException {
        return switch (tier) {
            case LOCAL -> Optional.empty();
            case BUCKET -> Optional.of(first(config));
            default -> Optional.of(named(config));
        };
    }

    private static BucketConfig first(GranaryConfig config) throws ConfigException {
        if (config.buckets().isEmpty()) {
            throw new ConfigException(
                    "No bucket is configured; give --bucket or set GRANARY_BUCKET.");
        }
        return config.buckets().getFirst();
    }

    public boolean isLocal() {
        return tier.equals(LOCAL);
    }

    private BucketConfig named(GranaryConfig config) throws UsageException {
        if (!tier.startsWith(ADDRESS)) {
            throw new UsageException("--tier must be local, bucket, or a configured bucket such as"
                    + " s3://kernels/team-a, not "
                    + SafeText.of(tier));
        }
        return config.buckets().stream()
                .filter(layer ->
                        layer.location().toString().equals(tier) || layer.name().equals(tier))
                .findFirst()
                .orElseThrow(() -> new UsageException(SafeText.of(tier)
                        + " is none of the configured buckets; configure it with"
                        + " --bucket or GRANARY_BUCKET too"));
    }
}
