package dev.granary.cli.kernel;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code granary manifest}: the commands on kernel manifests. */
@Command(
        name = "manifest",
        mixinStandardHelpOptions = true,
        description = "Merge, check or show kernel manifests and recordings.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            ManifestMergeCommand.class,
            ManifestCheckCommand.class,
            ManifestShowCommand.class
        })
public final class ManifestCommand implements Runnable {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "Missing command: merge, check or show");
    }
}
