package dev.granary.cli.manifest;

import dev.granary.coordinator.toml.TomlException;
import dev.granary.coordinator.toml.TomlFile;
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
import java.util.LinkedHashSet;
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
 * @param table the table of a kernel
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
            boolean hasBraces = source instanceof String text && text.contains("{");
            throw table.error("this kernel has no name; add: name = \"...\""
                    + (hasBraces ? "; or is its source a pattern? It needs a * or a ? then" : ""));
        }
        return switch (source) {
            case String text
            when !text.isBlank() -> List.of(new Program(name, List.of(table.path(SOURCE, text))));
            case List<?> _ -> List.of(new Program(name, listed(TomlFile.harmless(name))));
            case null, default -> {
                if (source != null && !(source instanceof String)) {
                    throw table.error(
                            SOURCE,
                            "source must be a string or a list of strings, such as source = "
                                    + "\"...\"");
                }
                throw table.error("kernel '" + TomlFile.harmless(name)
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
            String full = name == null ? stem : name + "/" + stem;
            if (full.length() > KernelManifest.MAX_NAME_CHARACTERS) {
                throw table.error(
                        SOURCE,
                        "a name of more than " + KernelManifest.MAX_NAME_CHARACTERS
                                + " characters is made of " + TomlFile.harmless(below));
            }
            programs.add(new Program(full, List.of(file)));
        }
        return programs;
    }

    /**
     * Returns the sources of one program. A pattern adds the files that no other item of the list
     * has.
     */
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
                Set<Path> added = new LinkedHashSet<>(matches(pattern(text)));
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

    /**
     * A path with wildcards.
     *
     * @param base the directory below which files are searched: the path before the first wildcard
     * @param parts the parts after it
     */
    private record Pattern(String text, Path base, List<String> parts) {}

    private Pattern pattern(String text) throws TomlException {
        List<String> parts = new ArrayList<>();
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
                    glob(part); // reports a wrong one, whether or not a file is compared with it
                    parts.add(part);
                }
            }
        } catch (InvalidPathException e) {
            throw table.error(SOURCE, "source is not a path: " + TomlFile.harmless(text));
        } catch (PatternSyntaxException e) {
            throw table.error(
                    SOURCE,
                    "the pattern '" + TomlFile.harmless(text) + "' is wrong: "
                            + TomlFile.harmless(String.valueOf(e.getDescription())));
        }
        if (parts.getLast().equals(ANY_DEPTH)) {
            parts.add("*"); // every file at any depth
        }
        return new Pattern(text, base.normalize(), parts);
    }

    private static PathMatcher glob(String part) {
        return FileSystems.getDefault().getPathMatcher("glob:" + part);
    }

    /** Returns the regular files that match, sorted by path; at least one. */
    private List<Path> matches(Pattern pattern) throws TomlException {
        Set<Path> found = Set.of(pattern.base());
        try {
            for (String part : pattern.parts()) {
                Set<Path> next = new TreeSet<>();
                PathMatcher glob = glob(part);
                for (Path directory : found) {
                    if (part.equals(ANY_DEPTH)) {
                        addTree(directory, next);
                    } else {
                        entries(directory, part.startsWith(".")).stream()
                                .filter(entry -> glob.matches(entry.getFileName()))
                                .forEach(next::add);
                    }
                }
                found = next;
            }
        } catch (IOException e) {
            throw table.error(
                    SOURCE,
                    "a directory of the pattern '" + TomlFile.harmless(pattern.text())
                            + "' cannot be read: " + TomlFile.harmless(e.toString()));
        }
        String below = " below " + TomlFile.harmless(pattern.base().toString());
        if (filesLeft.get() < 0) {
            throw table.error(
                    SOURCE,
                    "patterns reach more than " + MAX_FILES + " files, here" + below
                            + "; name a smaller directory");
        }
        List<Path> files = found.stream().filter(Files::isRegularFile).toList();
        if (files.isEmpty()) {
            throw table.error(
                    SOURCE, "no file matches '" + TomlFile.harmless(pattern.text()) + "'" + below);
        }
        return files;
    }

    private void addTree(Path directory, Set<Path> found) throws IOException {
        if (found.add(directory)) {
            for (Path entry : entries(directory, false)) {
                if (Files.isDirectory(entry, LinkOption.NOFOLLOW_LINKS)) {
                    addTree(entry, found);
                }
            }
        }
    }

    /** Returns either the hidden or the other entries of a directory; none if it is not one. */
    private List<Path> entries(Path directory, boolean isHidden) throws IOException {
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
