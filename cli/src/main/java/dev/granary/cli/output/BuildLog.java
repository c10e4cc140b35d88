package dev.granary.cli.output;

import dev.granary.cli.manifest.KernelSources;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A compiler's log, with the files that the user wrote in place of those that the driver was given, errors before warnings.
 *
 * <p>Drivers compile a copy of the source under a name of their own ({@code /tmp/tempfile-1f.cl}, {@code <kernel>}, {@code 1}), and headers lie in a
 * temporary directory. A location that is no known header is therefore one of the source.
 */
public final class BuildLog {
    /** So many lines of a log are shown where not all are wanted. */
    public static final int LINES = 20;

    private static final Pattern DIAGNOSTIC = Pattern.compile(
            "^(?:(?:error|warning): )?(?<file>[^:\\n]{1,4096}):(?<place>\\d+(?::\\d+)?): (?<kind>fatal error|error|warning|note|remark): (?<rest>.*)$");
    /** As PoCL tells it: the kind first, and no notes. */
    private static final Pattern KIND_FIRST = Pattern.compile(
            "^(?<kind>fatal error|error|warning|note|remark): (?<file>[^:\\n]{1,4096}):(?<place>\\d+(?::\\d+)?): (?<rest>.*)$");
    private static final Pattern INCLUDED = Pattern.compile("^(?<head>In file included from )(?<file>[^:\\n]{1,4096}):(?<rest>\\d+.*)$");

    private final List<Block> blocks = new ArrayList<>();

    /** How much is shown. */
    public enum Shown {
        FIRST_LINES,
        WHOLE
    }

    /** A diagnostic with the lines that belong to it. */
    private record Block(boolean isError, List<String> lines) {}

    /** The log of a kernel that was made from those files. */
    public BuildLog(String log, KernelSources sources) {
        Block open = new Block(true, new ArrayList<>()); // what comes before any location is the driver's own complaint
        List<String> includes = new ArrayList<>();
        blocks.add(open);
        for (String line : log.strip().lines().toList()) {
            Matcher included = INCLUDED.matcher(line);
            Matcher diagnostic = DIAGNOSTIC.matcher(line);
            if (!diagnostic.matches()) {
                diagnostic = KIND_FIRST.matcher(line);
            }
            if (included.matches()) {
                includes.add(included.group("head") + name(included.group("file"), sources) + ":" + included.group("rest"));
            } else if (diagnostic.matches()) {
                String kind = diagnostic.group("kind");
                if (!kind.equals("note")) {
                    open = new Block(kind.endsWith("error"), new ArrayList<>());
                    blocks.add(open);
                }
                open.lines().addAll(includes);
                includes.clear();
                open.lines().add(name(diagnostic.group("file"), sources) + ":" + diagnostic.group("place") + ": " + kind + ": " + diagnostic.group("rest"));
            } else {
                open.lines().addAll(includes);
                includes.clear();
                open.lines().add(line);
            }
        }
        open.lines().addAll(includes);
    }

    private static String name(String file, KernelSources sources) {
        Optional<Path> header = sources.header(file);
        return header.orElse(sources.source()).toString();
    }

    /** The lines to show. Of a part of the log, errors come first, and the last line says how much is missing. */
    public List<String> lines(Shown shown) {
        List<String> all = blocks.stream().flatMap(block -> block.lines().stream()).toList();
        if (shown == Shown.WHOLE || all.size() <= LINES) {
            return all;
        }
        List<String> sorted = new ArrayList<>();
        blocks.stream().filter(Block::isError).forEach(block -> sorted.addAll(block.lines()));
        blocks.stream().filter(block -> !block.isError()).forEach(block -> sorted.addAll(block.lines()));
        List<String> first = new ArrayList<>(sorted.subList(0, LINES - 1));
        first.add("... and " + Units.count(all.size() - (LINES - 1)) + " lines more; --verbose shows all");
        return first;
    }
}
