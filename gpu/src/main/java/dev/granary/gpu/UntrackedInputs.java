package dev.granary.gpu;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.gpu.source.PreprocessedText;
import dev.granary.gpu.source.SourceText;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Finder of compiler inputs that a descriptor's key does not cover.
 *
 * @param workingDirectory directory that the compiler searches for included files before any
 *     {@code -I} directory, as PoCL does
 */
record UntrackedInputs(Path workingDirectory) {
    private static final List<String> FILE_OPTIONS = List.of(
            "-I",
            "-i",
            "--include",
            "--sysroot",
            "-Xclang",
            "-F",
            "@",
            "-Xpreprocessor",
            "-Wp,",
            "-fmodule",
            "-fprofile",
            "-fplugin");
    private static final Pattern BUILD_TIME_MACRO =
            Pattern.compile("\\b__(?:DATE|TIME|TIMESTAMP)__\\b");
    private static final Pattern HAS_OPERATOR = Pattern.compile("__has_(?:include|embed)");

    /** Matches text from which a macro could make a name outside the directory of headers. */
    private static final Pattern ABSOLUTE =
            Pattern.compile("[\"<][ \\t]*/(?![/*])|(?:\\.\\./+){8}");

    /** With more steps up, a name leaves the compiler's directory of headers. */
    private static final int MAX_STEPS_UP = 8;

    /**
     * Returns a description of the first untracked input, with a remedy; empty if the key covers
     * all inputs.
     *
     * @param areFilesListed whether {@code headers} contains all files that a name made by a macro
     *     can denote
     */
    Optional<String> reason(
            List<String> sources,
            Map<String, String> headers,
            List<String> options,
            boolean areFilesListed) {
        for (String option : options) {
            Matcher macro = BUILD_TIME_MACRO.matcher(option);
            if (macro.find()) {
                return Optional.of(buildTimeReason("option " + option, macro));
            }
            if (FILE_OPTIONS.stream().anyMatch(option::startsWith)
                    || HAS_OPERATOR.matcher(option).find()) {
                return Optional.of("the option " + option
                        + " may include files that the key does not cover: list them as"
                        + " headers, or give an extra digest");
            }
        }
        Set<String> texts = new LinkedHashSet<>(sources);
        // drivers join them without a line end: a directive may span two texts
        texts.add(String.join("", sources));
        texts.addAll(headers.values());
        Set<String> includes = new LinkedHashSet<>();
        boolean hasComputed = false;
        boolean hasAbsolute = false;
        for (String text : texts) {
            PreprocessedText preprocessed = PreprocessedText.of(text);
            if (preprocessed.unclear().isPresent() && !areFilesListed) {
                return Optional.of("the source has " + preprocessed.unclear().get()
                        + ", so the key may not cover the included files: give an extra digest");
            }
            Matcher macro = BUILD_TIME_MACRO.matcher(preprocessed.withoutComments());
            if (macro.find()) {
                return Optional.of(buildTimeReason("source", macro));
            }
            hasComputed |= preprocessed.hasComputed() || preprocessed.unclear().isPresent();
            hasAbsolute |= areFilesListed
                    && ABSOLUTE.matcher(preprocessed.withoutComments()).find();
            includes.addAll(preprocessed.names());
        }
        if (hasComputed && (!areFilesListed || hasAbsolute)) {
            return Optional.of(
                    "an #include takes its name from a macro, so the key may not cover the"
                            + " included files: give an extra digest");
        }
        Optional<String> outside =
                includes.stream().filter(UntrackedInputs::isOutside).findFirst();
        return outside.isPresent()
                ? Optional.of("the include of " + outside.get()
                        + " is outside of the directory of headers: list it at a nearer"
                        + " path, or give an extra digest")
                : shadowingFile(includes, headers);
    }

    private static String buildTimeReason(String place, Matcher macro) {
        return "the " + place + " uses " + macro.group()
                + ", which differs from build to build: give an extra digest";
    }

    /**
     * Returns true if a relative name has so many steps up that it denotes a file outside the
     * compiler's directory.
     */
    private static boolean isOutside(String include) {
        int depth = 0;
        for (String step : include.split("/", -1)) {
            depth += step.equals("..") ? -1 : step.isEmpty() || step.equals(".") ? 0 : 1;
            if (depth < -MAX_STEPS_UP) {
                return true;
            }
        }
        return false;
    }

    /**
     * Follows the includes through the working directory. A file there that equals the listed
     * header is harmless, but its own includes are searched beside it.
     */
    private Optional<String> shadowingFile(Set<String> includes, Map<String, String> headers) {
        Set<Path> seen = new LinkedHashSet<>();
        ArrayDeque<Path> directories = new ArrayDeque<>(List.of(workingDirectory.toAbsolutePath()));
        while (!directories.isEmpty()) {
            Path directory = directories.remove();
            if (!seen.add(directory)) {
                continue;
            }
            for (String include : includes) {
                Optional<Path> found = fileOf(directory, include);
                if (found.isEmpty()) {
                    continue;
                }
                if (!equalsListed(found.get(), include, headers)) {
                    return Optional.of("the compiler may find " + include
                            + " in the working directory, and that file differs from the"
                            + " listed header: list it, run elsewhere, or give an extra digest");
                }
                directories.add(directoryOf(found.get()));
            }
        }
        return Optional.empty();
    }

    private static Optional<Path> fileOf(Path directory, String include) {
        try {
            return Optional.of(directory.resolve(include)).filter(Files::isRegularFile);
        } catch (InvalidPathException e) {
            return Optional.empty(); // not a valid file name
        }
    }

    private static Path directoryOf(Path file) {
        try {
            return file.toRealPath().resolveSibling(".").normalize();
        } catch (IOException e) {
            // removed meanwhile, or not accessible: its includes are searched beside its name
            return file.resolveSibling(".");
        }
    }

    /** Returns true if the content of the file equals every header that it could be taken for. */
    private static boolean equalsListed(Path file, String include, Map<String, String> headers) {
        Collection<String> listed = headers.entrySet().stream()
                .filter(header ->
                        header.getKey().equals(include) || header.getKey().endsWith("/" + include))
                .map(Map.Entry::getValue)
                .toList();
        try {
            String found = SourceText.normalized(new String(Files.readAllBytes(file), UTF_8));
            return !listed.isEmpty() && listed.stream().allMatch(found::equals);
        } catch (IOException e) {
            return false; // unreadable: cannot be compared
        }
    }
}
