package dev.granary.cli.manifest;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.regex.PatternSyntaxException;

/**
 * A path with wildcards: a text that contains {@code *} or {@code ?}. In it {@code *}, {@code ?},
 * {@code [abc]} and {@code {a,b}} match within one name, as in the globs of the JDK. The part
 * <code>**</code> matches any number of directories, none included.
 *
 * <p>As in a shell, names that begin with a dot are matched only by parts that do so too, and
 * <code>**</code> does not follow symbolic links.
 */
final class SourcePattern {
    private static final String ANY_DEPTH = "**";

    private final Path base;
    private final List<Part> parts;

    /** A part of the pattern between two slashes. */
    private record Part(boolean isAnyDepth, boolean isHidden, PathMatcher matcher) {
        static Part of(String text) {
            return new Part(
                    text.equals(ANY_DEPTH),
                    text.startsWith("."),
                    FileSystems.getDefault().getPathMatcher("glob:" + text));
        }

        boolean matches(Path name) {
            return isHidden == SourcePattern.isHidden(name) && matcher.matches(name);
        }
    }

    private SourcePattern(Path base, List<Part> parts) {
        this.base = base;
        this.parts = parts;
    }

    /** Returns true if a text is a pattern, and not a plain path. */
    static boolean isPattern(String text) {
        return isWild(text);
    }

    private static boolean isWild(String text) {
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
        List<String> texts = new ArrayList<>();
        Path base = text.startsWith("/") ? directory.resolve("/") : directory;
        for (String part : text.split("/", -1)) {
            if (part.isEmpty() || part.equals(".")) {
                continue;
            }
            if (part.chars().filter(c -> c == '{').count()
                    != part.chars().filter(c -> c == '}').count()) {
                throw new PatternSyntaxException("braces cannot contain a slash", text, -1);
            }
            if (texts.isEmpty() && !isWild(part)) {
                base = base.resolve(part);
            } else if (part.equals("..")) {
                throw new PatternSyntaxException("'..' follows a wildcard", text, -1);
            } else if (!part.equals(ANY_DEPTH)
                    || texts.isEmpty()
                    || !texts.getLast().equals(ANY_DEPTH)) {
                texts.add(part);
            }
        }
        if (!texts.isEmpty() && texts.getLast().equals(ANY_DEPTH)) {
            texts.add("*"); // every file at any depth
        }
        return new SourcePattern(base.normalize(), texts.stream().map(Part::of).toList());
    }

    /** Returns the directory below which files are searched: the path before the first wildcard. */
    Path base() {
        return base;
    }

    /**
     * Returns the regular files that match, sorted by path.
     *
     * @throws IOException if a directory cannot be read
     * @throws TooManyFilesException if {@code limits} end the search
     */
    List<Path> matches(ExpansionLimits limits) throws IOException, TooManyFilesException {
        List<Path> matches = new ArrayList<>();
        if (Files.isDirectory(base)) {
            search(base, new TreeSet<>(List.of(0)), limits, matches);
        }
        matches.sort(null);
        return matches;
    }

    /**
     * Searches a directory. All parts that its names may match are tried at once, so that each
     * directory is read once, however many parts have any depth.
     *
     * @param positions the indexes of these parts
     */
    private void search(
            Path directory,
            SortedSet<Integer> positions,
            ExpansionLimits limits,
            List<Path> matches)
            throws IOException, TooManyFilesException {
        TreeSet<Integer> open = new TreeSet<>(positions);
        for (int position : positions) {
            if (parts.get(position).isAnyDepth()) {
                open.add(position + 1);
            }
        }
        for (Path entry : entries(directory, limits)) {
            Path name = entry.getFileName();
            TreeSet<Integer> below = new TreeSet<>();
            boolean isMatch = false;
            boolean isLink = false;
            for (int position : open) {
                Part part = parts.get(position);
                if (part.isAnyDepth()) {
                    if (!isHidden(name)) {
                        isLink = isLink || Files.isSymbolicLink(entry);
                        if (!isLink) {
                            below.add(position);
                        }
                    }
                } else if (part.matches(name)) {
                    isMatch |= position == parts.size() - 1;
                    if (position < parts.size() - 1) {
                        below.add(position + 1);
                    }
                }
            }
            if (isMatch && Files.isRegularFile(entry)) {
                matches.add(entry);
            } else if (!below.isEmpty() && Files.isDirectory(entry)) {
                search(entry, below, limits, matches);
            }
        }
    }

    private static List<Path> entries(Path directory, ExpansionLimits limits)
            throws IOException, TooManyFilesException {
        List<Path> entries = new ArrayList<>();
        try (DirectoryStream<Path> stream = Files.newDirectoryStream(directory)) {
            for (Path entry : stream) {
                if (!limits.addFile()) {
                    throw new TooManyFilesException();
                }
                entries.add(entry);
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return entries;
    }

    private static boolean isHidden(Path name) {
        return name.toString().startsWith(".");
    }

    /** Thrown if the patterns of a manifest reach more files than {@link ExpansionLimits} allow. */
    static final class TooManyFilesException extends Exception {
        private static final long serialVersionUID = 1L;
    }
}
