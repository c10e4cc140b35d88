package dev.granary.cli.kernel;

import dev.granary.cli.manifest.KernelManifest;
import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.option.DeviceOption;
import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.option.StoreOptions;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.coordinator.toml.TomlException;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.nio.file.Path;
import java.util.List;

/** Base of the commands that get the kernels of a manifest through the cache. */
abstract class KernelsCommand extends OutputCommand {
    @Parameters(paramLabel = "MANIFEST", description = "a TOML file with [[kernel]] tables")
    private Path manifest = Path.of("");

    @Mixin
    private StoreOptions stores = new StoreOptions();

    @Mixin
    final DeviceOption device = new DeviceOption();

    @Option(
            names = "--record",
            paramLabel = "FILE",
            description = "add the kernels that were obtained to this recording, a kernel manifest"
                    + " (GRANARY_RECORD)")
    private @Nullable String recording;

    @Option(
            names = "--verbose",
            description =
                    "print the whole build log of a kernel that does not compile, not only its"
                            + " first "
                            + BuildLog.MAX_LINES + " lines")
    private boolean isVerbose;

    final List<KernelSpec> kernels() throws TomlException {
        return KernelManifest.read(manifest);
    }

    final GranaryConfigBuilder config() throws ConfigException {
        GranaryConfigBuilder builder = stores.builder();
        return recording == null ? builder : builder.record(recording);
    }

    /** Returns the number of lines of build logs to show. */
    final int logLines() {
        return isVerbose ? Integer.MAX_VALUE : BuildLog.MAX_LINES;
    }
}
