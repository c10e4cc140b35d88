package dev.granary.cli.manifest;

import dev.granary.coordinator.toml.TomlException;
import dev.granary.coordinator.toml.TomlFile;
import dev.granary.coordinator.toml.TomlTable;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.PatternSyntaxException;

/**
 * The programs of one table: their names, and their source files, which a pattern may select.
 *
 * @param table the table of a kernel
 * @param filesLeft the number of files and directories that patterns may still be compared with
 */
record ProgramSources(TomlTable table, AtomicInteger filesLeft) {
    private static final String SOURCE = "source";

    /** One program of a table, before its macros are defined. */
    record Program(String name, List<Path> sources) {}

    /** Returns the programs of the table: several only if its source is a pattern. */
    List<Program> programs() throws TomlException {
        Object source = table.value(SOURCE);
        String name = table.text("name");
        if (source instanceof String text
                && SourcePattern.isPattern(text)
                && (name == null || !name.isBlank())) {
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
        Path base = pattern(text).base();
        List<Program> programs = new ArrayList<>();
        for (Path file : matches(text)) {
            String below = base.relativize(file).toString();
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
            if (!SourcePattern.isPattern(text)) {
                named.add(table.path(SOURCE, text));
            }
        }
        List<Path> sources = new ArrayList<>();
        for (String text : texts) {
            if (SourcePattern.isPattern(text)) {
                Set<Path> added = new LinkedHashSet<>(matches(text));
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

    private SourcePattern pattern(String text) throws TomlException {
        try {
            return SourcePattern.parse(table.path(SOURCE, ""), text);
        } catch (InvalidPathException e) {
            throw table.error(SOURCE, "source is not a path: " + TomlFile.harmless(text));
        } catch (PatternSyntaxException e) {
            throw table.error(
                    SOURCE,
                    "the pattern '" + TomlFile.harmless(text) + "' is wrong: "
                            + TomlFile.harmless(String.valueOf(e.getDescription())));
        }
    }

    private List<Path> matches(String text) throws TomlException {
        SourcePattern pattern = pattern(text);
        String base = TomlFile.harmless(pattern.base().toString());
        List<Path> files;
        try {
            files = pattern.matches(filesLeft);
        } catch (IOException e) {
            throw table.error(
                    SOURCE,
                    "a directory of the pattern '" + TomlFile.harmless(text) + "' cannot be read: "
                            + TomlFile.harmless(e.toString()));
        }
        if (filesLeft.get() < 0) {
            throw table.error(
                    SOURCE,
                    "patterns reach more than " + SourcePattern.MAX_FILES + " files, here below "
                            + base + "; name a smaller directory");
        }
        if (files.isEmpty()) {
            throw table.error(
                    SOURCE, "no file matches '" + TomlFile.harmless(text) + "' below " + base);
        }
        return files;
    }
}
