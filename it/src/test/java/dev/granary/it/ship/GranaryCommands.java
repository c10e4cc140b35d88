package dev.granary.it.ship;

import dev.granary.cli.entry.CopyCommand;
import dev.granary.cli.entry.EvictCommand;
import dev.granary.cli.entry.InspectCommand;
import dev.granary.cli.entry.LsCommand;
import dev.granary.cli.kernel.GetCommand;
import dev.granary.cli.kernel.PopulateCommand;
import dev.granary.cli.operation.CollectCommand;
import dev.granary.cli.operation.CompactCommand;
import dev.granary.cli.operation.DoctorCommand;
import dev.granary.cli.operation.KeysCommand;
import dev.granary.cli.operation.QuarantineCommand;
import dev.granary.cli.operation.ReportCommand;
import dev.granary.cli.operation.StatsCommand;
import dev.granary.cli.operation.VerifyCommand;
import dev.granary.cli.operation.WarmCommand;

import picocli.CommandLine;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Calls of {@code granary} in shell scripts. */
final class GranaryCommands {
    /** The command, where a command may stand: also behind the times of cron. */
    private static final Pattern CALL = Pattern.compile("""
        (?m)(?:^[ $]*|[;&|]\\s*|\\b(?:if|then|do)\\s+|^[-0-9 *]+\\s)(?:\\./)?granary +([a-z]+)\
        ((?:[ \\t]+(?:'[^'\\n]*'|[^\\s;&|<>()#'"]+))*)\
        """);

    private static final Pattern WORD = Pattern.compile("'([^']*)'|(\\S+)");

    private static final Pattern BLOCK = Pattern.compile("(?ms)^ *```[a-z]*$(.*?)^ *```$");

    private static final Map<String, Class<?>> COMMANDS = Stream.of(
                    CollectCommand.class,
                    CompactCommand.class,
                    CopyCommand.class,
                    DoctorCommand.class,
                    EvictCommand.class,
                    GetCommand.class,
                    InspectCommand.class,
                    KeysCommand.class,
                    LsCommand.class,
                    PopulateCommand.class,
                    QuarantineCommand.class,
                    ReportCommand.class,
                    StatsCommand.class,
                    VerifyCommand.class,
                    WarmCommand.class)
            .collect(Collectors.toMap(
                    type -> new CommandLine(type).getCommandName(),
                    Function.identity()));

    private GranaryCommands() {}

    /** Returns the blocks of code of a page. */
    static String blocks(String page) {
        return BLOCK.matcher(page)
                .results()
                .map(each -> each.group(1))
                .collect(Collectors.joining("\n"));
    }

    /**
     * Parses all calls as the command does, and returns the names of the commands.
     *
     * @throws CommandLine.ParameterException if a command would refuse its arguments
     */
    static List<String> parse(String script) {
        List<String> names = new ArrayList<>();
        for (MatchResult call :
                CALL.matcher(script.replaceAll("\\\\\\n", " ")).results().toList()) {
            List<String> arguments = WORD.matcher(call.group(2))
                    .results()
                    .map(word -> word.group(1) == null ? word.group(2) : word.group(1))
                    .toList();
            String name = call.group(1);
            new CommandLine(Objects.requireNonNull(COMMANDS.get(name), name))
                    .setCaseInsensitiveEnumValuesAllowed(true)
                    .parseArgs(arguments.toArray(String[]::new));
            names.add(name);
        }
        return names;
    }
}
