package dev.granary.cli.manifest;

import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The files on this machine that the descriptor of a kernel was created from.
 *
 * @param source the source file
 * @param headers the included files, by their paths in the tree that the compiler gets
 */
public record KernelSources(Path source, Map<String, Path> headers) {
    /**
     * The header tree of an engine: a temporary directory, with the source at
     * {@link #SOURCE_PLACE}.
     */
    private static final Pattern IN_TREE = Pattern.compile(".*/granary-headers-[^/]+/(?<rest>.+)");

    private static final Path SOURCE_PLACE = Path.of("i/i/i/i/i/i/i/i");

    /** Copies the map. */
    public KernelSources {
        headers = Map.copyOf(headers);
    }

    /**
     * Returns the user's file for the name of a header in a compiler's log; empty if it is not one
     * of these.
     */
    public Optional<Path> header(String loggedName) {
        Matcher inTree = IN_TREE.matcher(loggedName);
        if (!inTree.matches()) {
            return Optional.empty();
        }
        Path place = SOURCE_PLACE.relativize(Path.of(inTree.group("rest")).normalize());
        return Optional.ofNullable(headers.get(place.toString()));
    }
}
