package dev.granary.coordinator.cli;

import dev.granary.coordinator.Version;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.manifest.ManifestException;
import java.io.PrintWriter;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The entry point of the {@code granary} command. */
@Command(
        name = "granary",
        mixinStandardHelpOptions = true,
        version = "granary " + Version.NUMBER,
        description = "A shared cache of compiled GPU kernels: memory, local disk, bucket.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            DemoCommand.class,
            DemoRoleCommand.class,
            PopulateCommand.class,
            RunCommand.class,
            WarmCommand.class,
            CompactCommand.class,
            LsCommand.class,
            InspectCommand.class,
            VerifyCommand.class,
            EvictCommand.class,
            ClearCommand.class,
            ExportCommand.class,
            ImportCommand.class,
            StatsCommand.class,
            DoctorCommand.class
        })
public final class Main {
    private static final int FAILED = 1;
    private static final int USAGE = 2;

    private Main() {}

    /** Runs the command and ends the process with its exit code. */
    public static void main(String[] arguments) {
        System.exit(commandLine().execute(arguments));
    }

    static CommandLine commandLine() {
        CommandLine line = new CommandLine(new Main());
        line.setExecutionStrategy(new CommandLine.RunLast());
        line.setExecutionExceptionHandler((failure, command, _) -> report(failure, command.getErr()));
        line.setCaseInsensitiveEnumValuesAllowed(true);
        line.setUsageHelpAutoWidth(true);
        return line;
    }

    private static int report(Exception failure, PrintWriter err) {
        return switch (failure) {
            case ConfigException _, ManifestException _, UsageException _ -> {
                err.println("granary: " + failure.getMessage());
                yield USAGE;
            }
            case FailedException _ -> {
                err.println("granary: " + failure.getMessage());
                yield FAILED;
            }
            default -> {
                err.println("granary: this should not have happened; please report it:");
                failure.printStackTrace(err);
                yield FAILED;
            }
        };
    }
}
