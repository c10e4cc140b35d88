package dev.granary.cli.operation;

import dev.granary.cli.output.Units;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code granary quarantine}: the commands on entries whose restore ended a process. */
@Command(
        name = "quarantine",
        mixinStandardHelpOptions = true,
        description = {
            "List the entries whose restore ended a process of this machine, or allow them again."
        },
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {QuarantineListCommand.class, QuarantineClearCommand.class})
public final class QuarantineCommand implements Runnable {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "Missing command: list or clear");
    }

    /** Returns text such as {@code 2 entries} or, if there are plans, {@code 2 entries, 1 plan}. */
    static String count(int entries, int plans) {
        return Units.plural(entries, "entry")
                + (plans == 0 ? "" : ", " + Units.plural(plans, "plan"));
    }
}
