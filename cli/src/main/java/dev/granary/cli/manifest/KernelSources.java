package dev.granary.cli.manifest;

import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The files on this machine that a kernel was made from.
 *
 * @param source the source file
 * @param headers the included files, each by its place in the tree that the compiler gets
 */
public record KernelSources(Path source, Map<String, Path> headers) {
    /** The tree of headers as an engine lays it out: its own temporary directory, in which the source's place lies this deep. */
    private static final Pattern IN_TREE = Pattern.compile(".*/granary-headers-[^/]+/(?<rest>.+)");

    private static final Path SOURCE_PLACE = Path.of("i/i/i/i/i/i/i/i");

    /** Copies the map. */
    public KernelSources {
        headers = Map.copyOf(headers);
    }

    /** The user's file behind the name of a header in a compiler's log; empty where it is none of these headers. */
    public Optional<Path> header(String compilersName) {
        Matcher inTree = IN_TREE.matcher(compilersName);
        if (!inTree.matches()) {
            return Optional.empty();
        }
        Path place = SOURCE_PLACE.relativize(Path.of(inTree.group("rest")).normalize());
        return Optional.ofNullable(headers.get(place.toString()));
    }
}
