package dev.granary.cli.kernel;

import dev.granary.cli.manifest.KernelSources;
import dev.granary.cli.output.Units;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The log of a compiler, with the names of the user's files instead of those that the driver was
 * given. Errors come before warnings.
 *
 * <p>Drivers compile a copy of the source under their own name ({@code /tmp/tempfile-1f.cl},
 * {@code <kernel>}, {@code 1}), and headers are in a temporary directory. A location outside the
 * known headers is therefore in the source.
 */
final class BuildLog {
    /** Number of lines of an excerpt. */
    static final int MAX_LINES = 20;

    private static final Pattern DIAGNOSTIC =
            Pattern.compile("^(?:(?:error|warning): )?(?<file>[^:\\n"
                    + "]{1,4096}):(?<place>\\d+(?::\\d+)?): (?<kind>fatal"
                    + " error|error|warning|note|remark): (?<rest>.*)$");
    /** PoCL's format: the kind first, and no notes. */
    private static final Pattern KIND_FIRST =
            Pattern.compile("^(?<kind>fatal error|error|warning|note|remark): (?<file>[^:\\n"
                    + "]{1,4096}):(?<place>\\d+(?::\\d+)?): (?<rest>.*)$");

    private static final Pattern INCLUDED = Pattern.compile(
            "^(?<head>In file included from )(?<file>[^:\\n]{1,4096}):(?<rest>\\d+.*)$");

    private static final Pattern LINE = Pattern.compile("\\d{1,9}(?!\\d)");

    private final List<Block> blocks = new ArrayList<>();

    /** A diagnostic with the lines that belong to it. */
    private record Block(boolean isError, List<String> lines) {}

    /** Creates the log of a kernel that was built from these files. */
    BuildLog(String log, KernelSources sources) {
        // lines before any location are the driver's own
        Block current = new Block(true, new ArrayList<>());
        List<String> includes = new ArrayList<>();
        blocks.add(current);
        for (String line : log.strip().lines().toList()) {
            Matcher included = INCLUDED.matcher(line);
            Matcher diagnostic = DIAGNOSTIC.matcher(line);
            if (!diagnostic.matches()) {
                diagnostic = KIND_FIRST.matcher(line);
            }
            if (included.matches()) {
                includes.add(included.group("head")
                        + location(included.group("file"), included.group("rest"), sources));
            } else if (diagnostic.matches()) {
                String kind = diagnostic.group("kind");
                if (!kind.equals("note")) {
                    current = new Block(kind.endsWith("error"), new ArrayList<>());
                    blocks.add(current);
                }
                current.lines().addAll(includes);
                includes.clear();
                current.lines()
                        .add(location(diagnostic.group("file"), diagnostic.group("place"), sources)
                                + ": " + kind + ": " + diagnostic.group("rest"));
            } else {
                current.lines().addAll(includes);
                includes.clear();
                current.lines().add(line);
            }
        }
        current.lines().addAll(includes);
    }

    /** Returns the user's file and line for those of the compiler, with what follows. */
    private static String location(String file, String place, KernelSources sources) {
        Optional<Path> header = sources.header(file);
        Matcher number = LINE.matcher(place);
        if (header.isPresent() || !number.lookingAt()) {
            return header.orElse(sources.sources().firstEntry().getValue()) + ":" + place;
        }
        int line = Integer.parseInt(number.group());
        Map.Entry<Integer, Path> source = sources.source(line);
        return source.getValue() + ":" + Math.max(0, line - source.getKey() + 1)
                + place.substring(number.end());
    }

    /** Returns at most {@code limit} lines; in an excerpt errors are first, and a count is last. */
    List<String> lines(int limit) {
        List<String> all =
                blocks.stream().flatMap(block -> block.lines().stream()).toList();
        if (all.size() <= limit) {
            return all;
        }
        List<String> first = blocks.stream()
                .sorted(Comparator.comparing(Block::isError).reversed())
                .flatMap(block -> block.lines().stream())
                .limit(limit - 1)
                .collect(Collectors.toCollection(ArrayList::new));
        first.add("... and " + Units.count(all.size() - (limit - 1L))
                + " more lines; --verbose shows all");
        return first;
    }
}
