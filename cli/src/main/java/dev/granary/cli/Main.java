package dev.granary.cli;

import dev.granary.cli.entry.CollectCommand;
import dev.granary.cli.entry.CompactCommand;
import dev.granary.cli.entry.CopyCommand;
import dev.granary.cli.entry.DevicesCommand;
import dev.granary.cli.entry.DoctorCommand;
import dev.granary.cli.entry.EvictCommand;
import dev.granary.cli.entry.InspectCommand;
import dev.granary.cli.entry.KeysCommand;
import dev.granary.cli.entry.LsCommand;
import dev.granary.cli.entry.QuarantineCommand;
import dev.granary.cli.entry.ReportCommand;
import dev.granary.cli.entry.StatsCommand;
import dev.granary.cli.entry.VerifyCommand;
import dev.granary.cli.entry.WarmCommand;
import dev.granary.cli.entry.WrapCommand;
import dev.granary.cli.kernel.GetCommand;
import dev.granary.cli.kernel.ManifestCommand;
import dev.granary.cli.kernel.PlanCommand;
import dev.granary.cli.kernel.PopulateCommand;
import dev.granary.cli.kernel.TuneCommand;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.toml.NearestName;
import dev.granary.coordinator.toml.SafeText;
import dev.granary.coordinator.toml.TomlException;
import dev.granary.local.LocalDirectoryException;
import dev.granary.s3.store.SecretRedactor;

import jdk.jfr.FlightRecorder;

import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.UsageMessageSpec;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.Map;

/** The entry point of the {@code granary} command. */
@Command(
        name = "granary",
        mixinStandardHelpOptions = true,
        version = "granary " + GranaryConfig.VERSION,
        description = "A shared cache of compiled GPU kernels: memory, local disk, bucket.",
        synopsisSubcommandLabel = "COMMAND",
        footer = {
            "",
            "Fill and use",
            "  populate MANIFEST  compile what the bucket lacks, publish it, read it back",
            "  get MANIFEST       get the kernels through the cache, as a node does",
            "  warm               fetch all entries of this machine's devices",
            "  wrap -- PROGRAM    run a program with kernels that its own caches share",
            "Look",
            "  ls [PLACE]         entries",
            "  inspect X [Y]      a key, whether a lookup hits, the entry; or what differs",
            "  stats [PLACE]      entries, counters, hit rates (--fleet, --prometheus)",
            "  report FILE        the use of a bucket by its machines, as an HTML file",
            "  devices            devices of OpenCL and Level Zero with their targets",
            "  doctor             check devices, directory and buckets (--quick)",
            "Look after",
            "  verify [PLACE]     read and check entries (--repair)",
            "  evict [PLACE]      remove entries of a directory (--to, --older-than, --all)",
            "  compact [PLACE]    merge entries of a bucket into packs, once a day",
            "  collect [PLACE]    remove what no machine uses from a layer, once a week",
            "  copy FROM TO       entries from one place to another",
            "  keys               keys that sign entries (--create, --trust, --revoke)",
            "  quarantine         entries whose restore ended a process (--clear)",
            "Kernels",
            "  manifest FILE      the kernels of a manifest, and what is wrong with them",
            "  plan FILE          a kernel plan: caches, bytes, source (--emit)",
            "  tune FILE          the fastest plan of a space, shared like a binary",
            "The launcher ./granary of a source tree",
            "  demo               three machines that share real kernels through a bucket",
            "  test               build everything and run all tests",
            "  bench              restore, memory, local, start, crash, bucket, plans",
            "  package DIR        an application image and a Debian package, without a JDK",
            "  server             an S3 server: ceph, swift, embedded; delay, a proxy",
            "  conformance        the contract suite of object stores on an S3 server",
            "  mvn                Maven with the JDK that the launcher found",
            "",
            "PLACE is a directory, s3://NAME/PREFIX or file:///PATH, by default the local",
            "directory; of compact and collect a layer, by default the first writable one.",
            "X is the first digits of an id, a file, or MANIFEST#KERNEL.",
            "All commands take --help and --json.",
            "Exit codes: 0 done, 1 failed, 2 wrong usage or configuration."
        })
public final class Main {
    private static final int FAILED = 1;
    private static final int USAGE = 2;

    /** The subcommands; the help above describes each. */
    private static final List<Map.Entry<String, Class<?>>> COMMANDS = List.of(
            Map.entry("populate", PopulateCommand.class),
            Map.entry("get", GetCommand.class),
            Map.entry("warm", WarmCommand.class),
            Map.entry("wrap", WrapCommand.class),
            Map.entry("ls", LsCommand.class),
            Map.entry("inspect", InspectCommand.class),
            Map.entry("stats", StatsCommand.class),
            Map.entry("report", ReportCommand.class),
            Map.entry("devices", DevicesCommand.class),
            Map.entry("doctor", DoctorCommand.class),
            Map.entry("verify", VerifyCommand.class),
            Map.entry("evict", EvictCommand.class),
            Map.entry("compact", CompactCommand.class),
            Map.entry("collect", CollectCommand.class),
            Map.entry("copy", CopyCommand.class),
            Map.entry("keys", KeysCommand.class),
            Map.entry("quarantine", QuarantineCommand.class),
            Map.entry("manifest", ManifestCommand.class),
            Map.entry("plan", PlanCommand.class),
            Map.entry("tune", TuneCommand.class),
            Map.entry("generate-completion", AutoComplete.GenerateCompletion.class),
            Map.entry("help", CommandLine.HelpCommand.class));

    private Main() {}

    /** Runs the command and ends the process with its exit code. */
    public static void main(String[] arguments) {
        // named, since SLF4J would look for it in all jars, which takes 0.04 s
        System.setProperty("slf4j.provider", "org.slf4j.simple.SimpleServiceProvider");
        System.setProperty("slf4j.internal.verbosity", "WARN");
        int code = commandLine(arguments).execute(arguments);
        if (System.out.checkError() && code == 0) {
            System.err.println("granary: the output could not be written: its disk is full, or its"
                    + " reader has ended");
            code = FAILED;
        }
        // hooks of a signal may be at work, or have to write a recording
        if (code != 0 || FlightRecorder.isInitialized()) {
            System.exit(code);
        }
        // exit would look for a logger in all jars, too; what was opened is closed
        Runtime.getRuntime().halt(0);
    }

    /** Returns the command line with the subcommand that the arguments name, else with all. */
    public static CommandLine commandLine(String... arguments) {
        CommandLine line = new CommandLine(new Main());
        String requested = arguments.length == 0 ? "" : arguments[0];
        boolean isVersion = arguments.length == 1 && requested.matches("-V|--version");
        boolean isKnown = isVersion
                || (!requested.equals("help")
                        && !requested.equals("generate-completion")
                        && COMMANDS.stream()
                                .anyMatch(command -> command.getKey().equals(requested)));
        for (Map.Entry<String, Class<?>> command : COMMANDS) {
            if (!isKnown || command.getKey().equals(requested)) {
                line.addSubcommand(command.getKey(), command.getValue());
            }
        }
        line.setExecutionStrategy(new CommandLine.RunLast());
        line.setParameterExceptionHandler((failure, _) -> reportMisuse(failure));
        line.setExecutionExceptionHandler(
                (failure, command, _) -> report(failure, command.getErr()));
        line.setCaseInsensitiveEnumValuesAllowed(true);
        line.setUsageHelpAutoWidth(true);
        // what follows a program is its own
        CommandLine wrap = line.getSubcommands().get("wrap");
        if (wrap != null) {
            wrap.setStopAtPositional(true);
        }
        line.getHelpSectionMap().remove(UsageMessageSpec.SECTION_KEY_COMMAND_LIST_HEADING);
        line.getHelpSectionMap().remove(UsageMessageSpec.SECTION_KEY_COMMAND_LIST); // the footer
        return line;
    }

    /** Prints one line instead of the whole help, and returns the exit code. */
    private static int reportMisuse(CommandLine.ParameterException failure) {
        CommandLine command = failure.getCommandLine();
        PrintWriter err = command.getErr();
        err.println("granary: " + message(failure));
        err.println("Try '" + command.getCommandSpec().qualifiedName() + " --help'.");
        err.flush();
        return USAGE;
    }

    /**
     * Returns the message of a failure, with the nearest option or command if one was mistyped.
     * Unmatched arguments may be secrets given to a mistyped option, so of those only the names of
     * options are shown.
     */
    private static String message(CommandLine.ParameterException failure) {
        if (!(failure instanceof CommandLine.UnmatchedArgumentException unmatched)) {
            return SafeText.of(String.valueOf(failure.getMessage()));
        }
        List<String> options = unmatched.getUnmatched().stream()
                .filter(one -> one.startsWith("-"))
                .map(one -> one.split("=", 2)[0])
                .toList();
        CommandSpec command = failure.getCommandLine().getCommandSpec();
        if (options.isEmpty()) {
            String mistyped = unmatched.getUnmatched().getFirst();
            return SafeText.of(String.valueOf(failure.getMessage()))
                    + NearestName.hint(mistyped, command.subcommands().keySet());
        }
        return "Unknown option" + (options.size() == 1 ? "" : "s") + ": '"
                + String.join("', '", options) + "'"
                + NearestName.hint(options.getFirst(), command.optionsMap().keySet());
    }

    private static int report(Exception failure, PrintWriter err) {
        boolean isMisuse = failure instanceof ConfigException
                || failure instanceof TomlException
                || failure instanceof CommandLine.TypeConversionException;
        if (isMisuse
                || failure instanceof CommandFailedException
                || failure instanceof LocalDirectoryException) {
            err.println("granary: " + failure.getMessage());
        } else if (failure instanceof IOException) {
            err.println("granary: the entries cannot be listed: " + failure.getMessage());
        } else {
            err.println("granary: internal error; please report it:");
            StringWriter trace = new StringWriter();
            failure.printStackTrace(new PrintWriter(trace, true));
            err.print(SecretRedactor.redact(trace.toString()));
        }
        err.flush();
        return isMisuse ? USAGE : FAILED;
    }
}
