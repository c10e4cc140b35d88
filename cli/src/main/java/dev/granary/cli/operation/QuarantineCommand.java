package dev.granary.cli.operation;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code granary quarantine}: the commands on entries whose restore ended a process. */
@Command(
        name = "quarantine",
        mixinStandardHelpOptions = true,
        description = {
            "List the entries whose restore ended a process, allow them again, or replace them in"
                    + " a bucket."
        },
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            QuarantineListCommand.class,
            QuarantineClearCommand.class,
            QuarantinePublishCommand.class
        })
public final class QuarantineCommand implements Runnable {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "Missing command: list, clear or publish");
    }
}
