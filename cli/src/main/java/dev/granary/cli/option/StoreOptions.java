package dev.granary.cli.option;

import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;

import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.util.List;

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
}
