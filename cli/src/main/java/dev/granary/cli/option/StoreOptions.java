package dev.granary.cli.option;

import dev.granary.cache.support.CheckResult.Problem;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.s3.BucketTier;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.util.Arrays;
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
    private Buckets settings = new Buckets();

    @Mixin
    private Local local = new Local();

    public GranaryConfigBuilder builder() throws ConfigException {
        GranaryConfigBuilder builder = local.builder();
        for (String bucket : buckets) {
            builder.bucket(bucket);
        }
        return settings.set(builder);
    }

    /** Returns the first writable layer; {@code cure} tells how to configure one. */
    public static BucketConfig firstWritable(GranaryConfig config, String cure)
            throws ConfigException {
        return writable(config)
                .orElseThrow(
                        () -> new ConfigException("No writable bucket is configured; " + cure));
    }

    /** Returns the layer to which compiled entries go. */
    public static Optional<BucketConfig> writable(GranaryConfig config) {
        return config.buckets().stream().filter(BucketConfig::isWritable).findFirst();
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

    /** The options of the local directory, which override the environment and the file. */
    public static final class Local {
        @Option(
                names = "--dir",
                paramLabel = "DIR",
                description =
                        "the local directory (GRANARY_DIR; default: granary under XDG_CACHE_HOME)")
        private @Nullable String directory;

        @Option(
                names = "--capacity",
                paramLabel = "SIZE",
                description =
                        "the capacity of the local directory, such as 4GiB, or a number of MiB"
                                + " (GRANARY_CAPACITY)")
        private @Nullable String capacity;

        public boolean isGiven() {
            return directory != null || capacity != null;
        }

        public GranaryConfigBuilder builder() throws ConfigException {
            GranaryConfigBuilder builder = GranaryConfig.builder();
            if (directory != null) {
                builder.directory(directory);
            }
            if (capacity != null) {
                builder.capacity(capacity);
            }
            return builder;
        }
    }

    /** The options of all buckets. Each overrides the environment and the configuration file. */
    public static final class Buckets {
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
}
