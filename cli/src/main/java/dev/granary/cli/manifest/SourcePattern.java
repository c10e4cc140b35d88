package dev.granary.cli.manifest;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.PatternSyntaxException;

/**
 * A path with wildcards: a text that contains {@code *} or {@code ?}. Its parts between slashes are
 * globs of the JDK, and the part <code>**</code> matches any number of directories, none included.
 *
 * <p>As in a shell, names that begin with a dot are matched only by parts that do so too, and
 * <code>**</code> does not follow symbolic links.
 *
 * @param base the directory below which files are searched: the path before the first wildcard
 * @param parts the parts after it
 */
record SourcePattern(Path base, List<String> parts) {
    /** The largest number of files and directories that all patterns are compared with. */
    static final int MAX_FILES = 200_000;

    private static final String ANY_DEPTH = "**";

    /** Returns true if a text is a pattern, and not a plain path. */
    static boolean isPattern(String text) {
        return text.indexOf('*') >= 0 || text.indexOf('?') >= 0;
    }

    /**
     * Returns the pattern of a text, relative to {@code directory}.
     *
     * @throws PatternSyntaxException if a bracket or a brace is not closed between two slashes, or
     *     if {@code ..} follows a wildcard
     * @throws InvalidPathException if the part before the first wildcard is not a path
     */
    static SourcePattern parse(Path directory, String text) {
        List<String> parts = new ArrayList<>();
        Path base = text.startsWith("/") ? directory.resolve("/") : directory;
        for (String part : text.split("/", -1)) {
            if (part.isEmpty() || part.equals(".")) {
                continue;
            }
            if (part.chars().filter(c -> c == '{').count()
                    != part.chars().filter(c -> c == '}').count()) {
                throw new PatternSyntaxException("braces cannot contain a slash", text, -1);
            }
            if (parts.isEmpty() && !isPattern(part)) {
                base = base.resolve(part);
            } else if (part.equals("..")) {
                throw new PatternSyntaxException("'..' follows a wildcard", text, -1);
            } else {
                glob(part); // reports a wrong one, whether or not a file is compared with it
                parts.add(part);
            }
        }
        if (parts.getLast().equals(ANY_DEPTH)) {
            parts.add("*"); // every file at any depth
        }
        return new SourcePattern(base.normalize(), List.copyOf(parts));
    }

    private static PathMatcher glob(String part) {
        return FileSystems.getDefault().getPathMatcher("glob:" + part);
    }

    /**
     * Returns the regular files that match, sorted by path.
     *
     * @param filesLeft the number of files and directories that may be read; the search subtracts
     *     those that it read, and ends when the number is negative
     * @throws IOException if a directory cannot be read
     */
    List<Path> matches(AtomicInteger filesLeft) throws IOException {
        Set<Path> found = Set.of(base);
        for (String part : parts) {
            Set<Path> next = new TreeSet<>();
            PathMatcher glob = glob(part);
            for (Path directory : found) {
                if (part.equals(ANY_DEPTH)) {
                    addTree(directory, next, filesLeft);
                } else {
                    entries(directory, part.startsWith("."), filesLeft).stream()
                            .filter(entry -> glob.matches(entry.getFileName()))
                            .forEach(next::add);
                }
            }
            found = next;
        }
        return found.stream().filter(Files::isRegularFile).toList();
    }

    private static void addTree(Path directory, Set<Path> found, AtomicInteger filesLeft)
            throws IOException {
        if (found.add(directory)) {
            for (Path entry : entries(directory, false, filesLeft)) {
                if (Files.isDirectory(entry, LinkOption.NOFOLLOW_LINKS)) {
                    addTree(entry, found, filesLeft);
                }
            }
        }
    }

    /** Returns either the hidden or the other entries of a directory; none if it is not one. */
    private static List<Path> entries(Path directory, boolean isHidden, AtomicInteger filesLeft)
            throws IOException {
        List<Path> entries = new ArrayList<>();
        if (filesLeft.get() < 0 || !Files.isDirectory(directory)) {
            return entries;
        }
        try (DirectoryStream<Path> stream = Files.newDirectoryStream(directory)) {
            for (Path entry : stream) {
                if (filesLeft.decrementAndGet() < 0) {
                    break;
                }
                if (isHidden == entry.getFileName().toString().startsWith(".")) {
                    entries.add(entry);
                }
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return entries;
    }
}
