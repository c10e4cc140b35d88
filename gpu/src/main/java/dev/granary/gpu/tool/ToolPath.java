package dev.granary.gpu.tool;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The directories in which programs are searched, in order.
 *
 * @param directories absolute paths, which need not exist
 */
public record ToolPath(List<Path> directories) {
    /** Copies the list. */
    public ToolPath {
        directories = List.copyOf(directories);
    }

    /** Returns the directories of a text like that of the environment variable {@code PATH}. */
    public static ToolPath of(String searchPath) {
        return new ToolPath(Pattern.compile(File.pathSeparator)
                .splitAsStream(searchPath)
                .filter(part -> !part.isEmpty())
                .flatMap(ToolPath::path)
                .toList());
    }

    /** Returns the directories of the environment variable {@code PATH} of this process. */
    public static ToolPath ofProcess() {
        return of(System.getenv().getOrDefault("PATH", ""));
    }

    private static Stream<Path> path(String part) {
        try {
            return Stream.of(Path.of(part).toAbsolutePath());
        } catch (InvalidPathException e) { // such a part has no program
            return Stream.empty();
        }
    }

    /** Returns the program of that name in the first directory that has it. */
    public Optional<Path> program(String name) {
        return directories.stream()
                .map(directory -> directory.resolve(name))
                .filter(file -> Files.isRegularFile(file) && Files.isExecutable(file))
                .findFirst();
    }
}
