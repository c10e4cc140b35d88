package dev.granary.cli.option;

import dev.granary.cache.support.CheckResult.Problem;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.s3.BucketTier;

import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.util.List;
import java.util.Optional;

/** The options of all stores, which override the environment and the file. */
public final class StoreOptions {
    @Option(
            names = "--bucket",
            paramLabel = "s3://NAME/PREFIX",
            description =
                    "the shared bucket (GRANARY_BUCKET); may be given several times: lookups use"
                            + " them in this order")
    private List<String> buckets = List.of();

    @Mixin
    private BucketOptions settings = new BucketOptions();

    @Mixin
    private LocalOptions local = new LocalOptions();

    public GranaryConfigBuilder builder() throws ConfigException {
        GranaryConfigBuilder builder = local.builder();
        for (String bucket : buckets) {
            builder.bucket(bucket);
        }
        return settings.set(builder);
    }

    public GranaryConfig config() throws ConfigException {
        return builder().build();
    }

    /** Returns the first writable layer; {@code cure} tells how to configure one. */
    public static BucketConfig firstWritable(GranaryConfig config, String cure)
            throws ConfigException {
        return config.buckets().stream()
                .filter(BucketConfig::isWritable)
                .findFirst()
                .orElseThrow(
                        () -> new ConfigException("No writable bucket is configured; " + cure));
    }

    /**
     * Sends one small request, which needs the server, the credentials and the bucket; or looks
     * whether a shared directory is there.
     *
     * @return the cause and the cure in one line; empty if the layer can be used
     */
    public static Optional<String> problem(BucketConfig bucket) throws ConfigException {
        if (bucket instanceof BucketConfig.Directory shared) {
            return TierFactory.shared(shared).check(true) instanceof Problem(var cause, var cure)
                    ? Optional.of(cause + "; " + cure)
                    : Optional.empty();
        }
        try (BucketTier tier = TierFactory.bucketForBackground(bucket)) {
            return tier.reach().map(problem -> problem.cause() + "; " + problem.cure());
        }
    }
}
