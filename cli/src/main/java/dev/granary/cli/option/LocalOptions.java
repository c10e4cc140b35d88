package dev.granary.cli.option;

import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Option;

/** The options of the local directory, which override the environment and the file. */
public final class LocalOptions {
    @Option(
            names = "--dir",
            paramLabel = "DIR",
            description =
                    "the local directory (GRANARY_DIR; default: granary under XDG_CACHE_HOME)")
    private @Nullable String directory;

    @Option(
            names = "--capacity",
            paramLabel = "SIZE",
            description = "the capacity of the local directory, such as 4GiB, or a number of MiB"
                    + " (GRANARY_CAPACITY)")
    private @Nullable String capacity;

    /** Returns true if an option was given. */
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
