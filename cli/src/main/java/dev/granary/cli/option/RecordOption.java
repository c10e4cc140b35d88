package dev.granary.cli.option;

import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfigBuilder;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Option;

/** The option that records the kernels of a command. */
public final class RecordOption {
    @Option(
            names = "--record",
            paramLabel = "FILE",
            description = "add the kernels that were obtained to this recording, a kernel manifest"
                    + " (GRANARY_RECORD)")
    private @Nullable String file;

    /** Sets the recording if the option was given. */
    public GranaryConfigBuilder in(GranaryConfigBuilder builder) throws ConfigException {
        return file == null ? builder : builder.record(file);
    }
}
