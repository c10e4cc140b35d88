package dev.granary.cli.option;

import dev.granary.coordinator.admin.TierInventory;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.toml.SafeText;
import picocli.CommandLine.Option;

/** The option that chooses the tier to look into. */
public final class TierOption {
    private static final String LOCAL = "local";
    private static final String BUCKET = "bucket";
    private static final String ADDRESS = "s3://";

    @Option(names = "--tier", paramLabel = "local|bucket|s3://NAME/PREFIX", defaultValue = LOCAL,
            description = "where to look: local, bucket (the first one), or one of the configured buckets (default: ${DEFAULT-VALUE})")
    private String tier = LOCAL;

    /** Opens the tier, and refuses options for buckets where it is the local one: they would do nothing. */
    public TierInventory open(StoreOptions stores) throws ConfigException, UsageException {
        GranaryConfig config = stores.config();
        if (isLocal() && stores.isAnyForBuckets()) {
            throw new UsageException("--bucket, --endpoint and --client do nothing with --tier local; say --tier bucket to look into the bucket");
        }
        return switch (tier) {
            case LOCAL -> TierInventory.ofLocal(config);
            case BUCKET -> TierInventory.ofBucket(config);
            default -> TierInventory.ofBucket(named(config));
        };
    }

    public boolean isLocal() {
        return tier.equals(LOCAL);
    }

    private BucketConfig named(GranaryConfig config) throws UsageException {
        if (!tier.startsWith(ADDRESS)) {
            throw new UsageException("--tier must be local, bucket, or a configured bucket such as s3://kernels/team-a, not " + SafeText.of(tier));
        }
        return config.buckets().stream().filter(layer -> layer.location().toString().equals(tier) || layer.name().equals(tier)).findFirst()
                .orElseThrow(() -> new UsageException(SafeText.of(tier) + " is none of the configured buckets; name it with --bucket or GRANARY_BUCKET too"));
    }
}
