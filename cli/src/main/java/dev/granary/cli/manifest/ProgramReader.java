package dev.granary.cli.manifest;

import dev.granary.coordinator.toml.TomlFile;

import org.jspecify.annotations.Nullable;
import org.tomlj.TomlArray;
import org.tomlj.TomlPosition;

import java.io.IOException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.regex.PatternSyntaxException;

/**
 * Reader of the programs of one table: their names, and their source files, which a pattern may
 * select.
 *
 * @param table the table of a kernel
 * @param limits the limits of the manifest, to which files of patterns are added
 */
record ProgramReader(ManifestTable table, ExpansionLimits limits) {
    /** One program of a table, before its macros are defined. */
    record Program(String name, List<Path> sources) {}

    /** Returns the programs of a table: several only if its source is a pattern. */
    List<Program> read(@Nullable TomlPosition position) throws KernelManifestException {
        Object source = table.value("source");
        boolean isPattern = source instanceof String text && SourcePattern.isPattern(text);
        String name = table.text("name");
        if ((name == null && !isPattern) || (name != null && name.isBlank())) {
            boolean hasBraces = source instanceof String text && text.contains("{");
            throw table.error(
                    position,
                    "this kernel has no name; add: name = \"...\""
                            + (hasBraces
                                    ? "; or is its source a pattern? It needs a * or a ? then"
                                    : ""));
        }
        if (source instanceof String text && SourcePattern.isPattern(text)) {
            return perFile(text, name);
        }
        String shown = TomlFile.harmless(Objects.requireNonNull(name));
        if (source == null || (source instanceof String text && text.isBlank())) {
            throw table.error(
                    position,
                    "kernel '" + shown + "' has no source; add: source = \"path/to/file.cl\"");
        }
        if (source instanceof String text) {
            return List.of(new Program(name, List.of(table.path("source", text))));
        }
        if (!(source instanceof TomlArray)) {
            throw table.error(
                    "source",
                    "source must be a string or a list of strings, such as source =" + " \"...\"");
        }
        return List.of(new Program(name, listed(shown)));
    }

    private List<Program> perFile(String text, @Nullable String name)
            throws KernelManifestException {
        SourcePattern pattern = pattern(text);
        List<Program> programs = new ArrayList<>();
        for (Path file : matches(pattern, text)) {
            String below = pattern.base().relativize(file).toString();
            int extension = below.lastIndexOf('.');
            String stem =
                    extension > below.lastIndexOf('/') + 1 ? below.substring(0, extension) : below;
            String full = name == null ? stem : name + "/" + stem;
            if (full.length() > ExpansionLimits.MAX_NAME_CHARACTERS) {
                throw table.error(
                        "source",
                        "a name of more than " + ExpansionLimits.MAX_NAME_CHARACTERS
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
    private List<Path> listed(String name) throws KernelManifestException {
        List<String> texts = table.texts("source");
        Set<Path> named = new HashSet<>();
        for (String text : texts) {
            if (text.isBlank()) {
                throw table.error("source", "kernel '" + name + "' has a source without a path");
            }
            if (!SourcePattern.isPattern(text)) {
                named.add(table.path("source", text));
            }
        }
        List<Path> sources = new ArrayList<>();
        for (String text : texts) {
            if (SourcePattern.isPattern(text)) {
                Set<Path> added = new LinkedHashSet<>(matches(pattern(text), text));
                added.removeIf(file -> !named.add(file));
                sources.addAll(added);
            } else {
                sources.add(table.path("source", text));
            }
        }
        if (sources.isEmpty()) {
            throw table.error(
                    "source",
                    "kernel '" + name + "' has no source; add: source = [\"path/to/file.cl\"]");
        }
        return sources;
    }

    private SourcePattern pattern(String text) throws KernelManifestException {
        try {
            Path directory = table.path("source", "");
            return SourcePattern.parse(directory, text);
        } catch (InvalidPathException e) {
            throw table.notPath("source", text);
        } catch (PatternSyntaxException e) {
            throw table.error(
                    "source",
                    "the pattern '" + TomlFile.harmless(text) + "' is wrong: "
                            + TomlFile.harmless(String.valueOf(e.getDescription())));
        }
    }

    private List<Path> matches(SourcePattern pattern, String text) throws KernelManifestException {
        List<Path> files;
        try {
            files = pattern.matches(limits.filesLeft());
        } catch (IOException e) {
            throw table.error(
                    "source",
                    "a directory of the pattern '" + TomlFile.harmless(text) + "' cannot be read: "
                            + TomlFile.harmless(e.toString()));
        }
        if (limits.filesLeft().get() < 0) {
            throw table.error(
                    "source",
                    "patterns reach more than " + ExpansionLimits.MAX_FILES + " files, here below "
                            + TomlFile.harmless(pattern.base().toString())
                            + "; name a smaller directory");
        }
        if (files.isEmpty()) {
            throw table.error(
                    "source",
                    "no file matches '" + TomlFile.harmless(text) + "' below "
                            + TomlFile.harmless(pattern.base().toString()));
        }
        return files;
    }
}
