package dev.granary.cli.option;

import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Option;

import java.util.Arrays;

/** The options of all buckets. Each overrides the environment and the configuration file. */
public final class BucketOptions {
    @Option(
            names = "--endpoint",
            paramLabel = "URL",
            description = "the object store's address (GRANARY_S3_ENDPOINT)")
    private @Nullable String endpoint;

    @Option(
            names = "--client",
            paramLabel = "aws|minio",
            description = "the client library (GRANARY_S3_CLIENT)")
    private @Nullable String client;

    /** Returns a configuration with the given options, which need a bucket among the places. */
    public GranaryConfigBuilder builder(String... places) throws ConfigException {
        if ((endpoint != null || client != null)
                && Arrays.stream(places).noneMatch(place -> place.startsWith("s3:"))) {
            throw new ConfigException(
                    "--endpoint and --client have no effect on a directory; name a"
                            + " bucket: they belong to s3:// places");
        }
        return set(GranaryConfig.builder());
    }

    /** Sets the given options in a configuration. */
    public GranaryConfigBuilder set(GranaryConfigBuilder builder) throws ConfigException {
        if (endpoint != null) {
            builder.endpoint(endpoint);
        }
        if (client != null) {
            builder.client(client);
        }
        return builder;
    }
}
