package dev.granary.it.ship;

import dev.granary.cli.Main;

import picocli.CommandLine;

import java.util.ArrayList;
import java.util.List;
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
            Main.commandLine()
                    .parseArgs(Stream.concat(Stream.of(name), arguments.stream())
                            .toArray(String[]::new));
            names.add(name);
        }
        return names;
    }
}
