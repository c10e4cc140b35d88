package dev.granary.coordinator.cli;

import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options that say which stores to use; each wins over environment and configuration file. */
final class StoreOptions {
    @Option(names = "--bucket", paramLabel = "s3://NAME/PREFIX",
            description = "the shared bucket (GRANARY_BUCKET); may be given several times: they are asked in this order")
    private List<String> buckets = List.of();

    @Option(names = "--endpoint", paramLabel = "URL", description = "the object store's address (GRANARY_S3_ENDPOINT)")
    private @Nullable String endpoint;

    @Option(names = "--client", paramLabel = "aws|minio", description = "the client library (GRANARY_S3_CLIENT)")
    private @Nullable String client;

    @Option(names = "--dir", paramLabel = "DIR", description = "the local directory (GRANARY_DIR; default: granary under XDG_CACHE_HOME)")
    private @Nullable String directory;

    @Option(names = "--capacity", paramLabel = "SIZE", description = "its limit, such as 4GiB, or a number of MiB (GRANARY_CAPACITY)")
    private @Nullable String capacity;

    GranaryConfig.Builder builder() throws ConfigException {
        GranaryConfig.Builder builder = GranaryConfig.builder();
        for (String bucket : buckets) {
            builder.bucket(bucket);
        }
        if (endpoint != null) {
            builder.endpoint(endpoint);
        }
        if (client != null) {
            builder.client(client);
        }
        if (directory != null) {
            builder.directory(directory);
        }
        if (capacity != null) {
            builder.capacity(capacity);
        }
        return builder;
    }

    GranaryConfig config() throws ConfigException {
        return builder().build();
    }
}
