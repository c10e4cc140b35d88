package dev.granary.cli.manifest;

import java.nio.file.Path;
import java.util.Collections;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The files on this machine that the descriptor of a kernel was created from.
 *
 * @param sources the source files by their first lines in the program, counted from 1; at least one
 * @param headers the included files, by their paths in the tree that the compiler gets
 */
public record KernelSources(NavigableMap<Integer, Path> sources, Map<String, Path> headers) {
    /** The header tree of an engine, with the source at {@link #SOURCE_PLACE}. */
    private static final Pattern IN_TREE = Pattern.compile(".*/granary-headers-[^/]+/(?<rest>.+)");

    private static final Path SOURCE_PLACE = Path.of("i/i/i/i/i/i/i/i");

    public KernelSources {
        sources = Collections.unmodifiableNavigableMap(new TreeMap<>(sources));
        headers = Map.copyOf(headers);
    }

    /** Creates the files of a program with one source. */
    public KernelSources(Path source, Map<String, Path> headers) {
        this(new TreeMap<>(Map.of(1, source)), headers);
    }

    /** Returns the source that has a line of the program, and the number of its first line. */
    public Map.Entry<Integer, Path> source(int line) {
        Map.Entry<Integer, Path> source = sources.floorEntry(line);
        return source == null ? sources.firstEntry() : source;
    }

    /** Returns the user's file for the name of a header in a compiler's log, if it is one. */
    public Optional<Path> header(String loggedName) {
        Matcher inTree = IN_TREE.matcher(loggedName);
        if (!inTree.matches()) {
            return Optional.empty();
        }
        Path place = SOURCE_PLACE.relativize(Path.of(inTree.group("rest")).normalize());
        return Optional.ofNullable(headers.get(place.toString()));
    }
}
