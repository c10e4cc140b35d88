package dev.granary.cli;

import dev.granary.cli.manifest.KernelManifestException;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.UsageException;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.LibraryVersion;
import dev.granary.coordinator.toml.SafeText;
import dev.granary.s3.store.SecretRedactor;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.Map;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The entry point of the {@code granary} command. */
@Command(
        name = "granary",
        mixinStandardHelpOptions = true,
        version = "granary " + LibraryVersion.NUMBER,
        description = "A shared cache of compiled GPU kernels: memory, local disk, bucket.",
        synopsisSubcommandLabel = "COMMAND",
        footer = {
            "",
            "The launcher ./granary of a source tree has these as well:",
            "  test         build everything and pass all tests",
            "  bench        run a benchmark: restore, memory, local, crash, bucket",
            "  server       start an S3 server: ceph, swift, embedded, or delay before one",
            "  conformance  hold an S3 server against the suite of object stores",
            "  mvn          run Maven under the JDK that was found",
            "",
            "Exit codes: 0 done, 1 failed, 2 wrong usage or configuration."
        })
public final class Main {
    private static final int FAILED = 1;
    private static final int USAGE = 2;

    /** In the order of the help. */
    private static final List<Map.Entry<String, Class<?>>> COMMANDS = List.of(
            Map.entry("demo", DemoCommand.class),
            Map.entry("demo-role", DemoRoleCommand.class),
            Map.entry("populate", PopulateCommand.class),
            Map.entry("run", RunCommand.class),
            Map.entry("warm", WarmCommand.class),
            Map.entry("compact", CompactCommand.class),
            Map.entry("ls", LsCommand.class),
            Map.entry("inspect", InspectCommand.class),
            Map.entry("verify", VerifyCommand.class),
            Map.entry("evict", EvictCommand.class),
            Map.entry("clear", ClearCommand.class),
            Map.entry("export", ExportCommand.class),
            Map.entry("import", ImportCommand.class),
            Map.entry("stats", StatsCommand.class),
            Map.entry("doctor", DoctorCommand.class),
            Map.entry("help", CommandLine.HelpCommand.class),
            Map.entry("train", AotTrainCommand.class));

    private Main() {}

    /** Runs the command and ends the process with its exit code. */
    public static void main(String[] arguments) {
        // The commands tell a refusal themselves, in one line with the cause, and doctor tells what the server can do.
        System.getProperties().putIfAbsent("org.slf4j.simpleLogger.log.dev.granary.s3.resilience.WriteSuspension", "error");
        System.getProperties().putIfAbsent("org.slf4j.simpleLogger.log.dev.granary.s3.probe.CachedCapabilities", "warn");
        System.exit(commandLine(arguments).execute(arguments));
    }

    /** The command line for these arguments: with the command that they name, or, where they name none, with all; each takes time to read. */
    public static CommandLine commandLine(String... arguments) {
        CommandLine line = new CommandLine(new Main());
        String asked = arguments.length == 0 ? "" : arguments[0];
        boolean isKnown = !asked.equals("help") && COMMANDS.stream().anyMatch(command -> command.getKey().equals(asked));
        for (Map.Entry<String, Class<?>> command : COMMANDS) {
            if (!isKnown || command.getKey().equals(asked)) {
                line.addSubcommand(command.getKey(), command.getValue());
            }
        }
        line.setExecutionStrategy(new CommandLine.RunLast());
        line.setParameterExceptionHandler((failure, _) -> misused(failure));
        line.setExecutionExceptionHandler((failure, command, _) -> report(failure, command.getErr()));
        line.setCaseInsensitiveEnumValuesAllowed(true);
        line.setUsageHelpAutoWidth(true);
        return line;
    }

    /** One line, not the whole help beneath it. */
    private static int misused(CommandLine.ParameterException failure) {
        CommandLine command = failure.getCommandLine();
        PrintWriter err = command.getErr();
        err.println("granary: " + message(failure));
        err.println("Try '" + command.getCommandSpec().qualifiedName() + " --help'.");
        err.flush();
        return USAGE;
    }

    /** Arguments that no option takes may be values of a mistyped one: of those, the names of options are shown alone. */
    private static String message(CommandLine.ParameterException failure) {
        if (!(failure instanceof CommandLine.UnmatchedArgumentException unmatched)) {
            return SafeText.of(String.valueOf(failure.getMessage()));
        }
        List<String> options = unmatched.getUnmatched().stream().filter(one -> one.startsWith("-")).map(one -> "'" + one.split("=", 2)[0] + "'").toList();
        return switch (options.size()) {
            case 0 -> SafeText.of(String.valueOf(failure.getMessage()));
            case 1 -> "Unknown option: " + options.getFirst();
            default -> "Unknown options: " + String.join(", ", options);
        };
    }

    private static int report(Exception failure, PrintWriter err) {
        return switch (failure) {
            case ConfigException _, KernelManifestException _, UsageException _ -> {
                err.println("granary: " + failure.getMessage());
                yield USAGE;
            }
            case CommandFailedException _ -> {
                err.println("granary: " + failure.getMessage());
                yield FAILED;
            }
            default -> {
                err.println("granary: this should not have happened; please report it:");
                StringWriter trace = new StringWriter();
                failure.printStackTrace(new PrintWriter(trace, true));
                err.print(SecretRedactor.redact(trace.toString()));
                err.flush();
                yield FAILED;
            }
        };
    }
}
