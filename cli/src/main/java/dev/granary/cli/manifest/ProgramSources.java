package dev.granary.cli.manifest;

import dev.granary.coordinator.toml.SafeText;
import dev.granary.coordinator.toml.TomlException;
import dev.granary.coordinator.toml.TomlTable;

import org.jspecify.annotations.Nullable;

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
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.PatternSyntaxException;

/**
 * The programs of one table: their names, and their source files, which a pattern may select.
 *
 * <p>A pattern is a path that contains {@code *} or {@code ?}. Its parts between slashes are globs
 * of the JDK, and the part <code>**</code> matches any number of directories, none included. As in
 * a shell, names that begin with a dot are matched only by parts that do so too, and <code>**
 * </code> does not follow symbolic links.
 *
 * @param filesLeft the number of files and directories that patterns may still be compared with
 */
record ProgramSources(TomlTable table, AtomicInteger filesLeft) {
    /** The largest number of files and directories that all patterns are compared with. */
    static final int MAX_FILES = 200_000;

    private static final String SOURCE = "source";
    private static final String ANY_DEPTH = "**";

    /** One program of a table, before its macros are defined. */
    record Program(String name, List<Path> sources) {}

    /** Returns the programs of the table: several only if its source is a pattern. */
    List<Program> programs() throws TomlException {
        Object source = table.value(SOURCE);
        String name = table.text("name");
        if (source instanceof String text && isPattern(text) && (name == null || !name.isBlank())) {
            return perFile(text, name);
        }
        if (name == null || name.isBlank()) {
            String hint = source instanceof List
                    ? "; a list is one program; for one of each file write source = \"*.cl\""
                    : source instanceof String text && text.contains("{")
                            ? "; or is its source a pattern? It needs a * or a ? then"
                            : "";
            throw table.error("this kernel has no name; add: name = \"...\"" + hint);
        }
        return switch (source) {
            case String text
            when !text.isBlank() -> List.of(new Program(name, List.of(table.path(SOURCE, text))));
            case List<?> _ -> List.of(new Program(name, listed(SafeText.ofFile(name))));
            case null, default -> {
                if (source != null && !(source instanceof String)) {
                    throw table.error(
                            SOURCE,
                            "source must be a string or a list of strings, such as source = "
                                    + "\"...\"");
                }
                throw table.error("kernel '" + SafeText.ofFile(name)
                        + "' has no source; add: source = \"path/to/file.cl\"");
            }
        };
    }

    private List<Program> perFile(String text, @Nullable String name) throws TomlException {
        Pattern pattern = pattern(text);
        List<Program> programs = new ArrayList<>();
        for (Path file : matches(pattern)) {
            String below = pattern.base().relativize(file).toString();
            int extension = below.lastIndexOf('.');
            String stem =
                    extension > below.lastIndexOf('/') + 1 ? below.substring(0, extension) : below;
            programs.add(new Program(name == null ? stem : name + "/" + stem, List.of(file)));
        }
        return programs;
    }

    /** Returns the sources of one program; a pattern adds files that no other item has. */
    private List<Path> listed(String name) throws TomlException {
        List<String> texts = table.texts(SOURCE);
        Set<Path> named = new HashSet<>();
        for (String text : texts) {
            if (text.isBlank()) {
                throw table.error(SOURCE, "kernel '" + name + "' has a source without a path");
            }
            if (!isPattern(text)) {
                named.add(table.path(SOURCE, text));
            }
        }
        List<Path> sources = new ArrayList<>();
        for (String text : texts) {
            if (isPattern(text)) {
                Set<Path> added = matches(pattern(text));
                added.removeIf(file -> !named.add(file));
                sources.addAll(added);
            } else {
                sources.add(table.path(SOURCE, text));
            }
        }
        if (sources.isEmpty()) {
            throw table.error(
                    SOURCE,
                    "kernel '" + name + "' has no source; add: source = [\"path/to/file.cl\"]");
        }
        return sources;
    }

    private static boolean isPattern(String text) {
        return text.indexOf('*') >= 0 || text.indexOf('?') >= 0;
    }

    /** A path with wildcards below {@code base}, the path before the first of them. */
    private record Pattern(String text, Path base, List<Part> parts) {}

    /** A part of a pattern between slashes. */
    private record Part(String text, PathMatcher glob) {
        static Part of(String text) {
            return new Part(text, FileSystems.getDefault().getPathMatcher("glob:" + text));
        }
    }

    private Pattern pattern(String text) throws TomlException {
        List<Part> parts = new ArrayList<>();
        Path base = table.path(SOURCE, text.startsWith("/") ? "/" : "");
        try {
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
                    parts.add(Part.of(part));
                }
            }
        } catch (InvalidPathException e) {
            throw table.error(SOURCE, "source is not a path: " + SafeText.ofFile(text));
        } catch (PatternSyntaxException e) {
            throw table.error(
                    SOURCE,
                    "the pattern '" + SafeText.ofFile(text) + "' is wrong: "
                            + SafeText.ofFile(String.valueOf(e.getDescription())));
        }
        if (parts.getLast().text().equals(ANY_DEPTH)) {
            parts.add(Part.of("*")); // every file at any depth
        }
        return new Pattern(text, base.normalize(), parts);
    }

    /** Returns the regular files that match, sorted by path; at least one. */
    private Set<Path> matches(Pattern pattern) throws TomlException {
        Set<Path> files = new TreeSet<>();
        try {
            collect(pattern.base(), pattern.parts(), files);
        } catch (IOException e) {
            throw table.error(
                    SOURCE,
                    "a directory of the pattern '" + SafeText.ofFile(pattern.text())
                            + "' cannot be read: " + SafeText.ofFile(e.toString()));
        }
        String below = " below " + SafeText.ofFile(pattern.base().toString());
        if (filesLeft.get() < 0) {
            throw table.error(
                    SOURCE,
                    "patterns reach more than " + MAX_FILES + " files, here" + below
                            + "; name a smaller directory");
        }
        if (files.isEmpty()) {
            throw table.error(
                    SOURCE, "no file matches '" + SafeText.ofFile(pattern.text()) + "'" + below);
        }
        return files;
    }

    /** Adds the files below a directory that match the parts; none if it is not a directory. */
    private void collect(Path directory, List<Part> parts, Set<Path> files) throws IOException {
        Part part = parts.getFirst();
        List<Part> rest = parts.subList(1, parts.size());
        boolean isAnyDepth = part.text().equals(ANY_DEPTH);
        if (isAnyDepth) {
            collect(directory, rest, files);
        }
        if (filesLeft.get() < 0 || !Files.isDirectory(directory)) {
            return;
        }
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
            for (Path entry : entries) {
                if (filesLeft.decrementAndGet() < 0) {
                    return;
                }
                Path name = entry.getFileName();
                if (name.toString().startsWith(".") != part.text().startsWith(".")) {
                    continue;
                }
                if (isAnyDepth) {
                    if (Files.isDirectory(entry, LinkOption.NOFOLLOW_LINKS)) {
                        collect(entry, parts, files);
                    }
                } else if (part.glob().matches(name)) {
                    if (!rest.isEmpty()) {
                        collect(entry, rest, files);
                    } else if (Files.isRegularFile(entry)) {
                        files.add(entry);
                    }
                }
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
    }
}
