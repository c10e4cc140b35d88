package dev.granary.gpu;

import static java.nio.charset.StandardCharsets.UTF_8;

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
 * Finds what a compiler would read although a descriptor's key does not hold it.
 *
 * @param workingDirectory where the compiler looks for included files before it looks into any {@code -I} directory, as PoCL does
 */
record UntrackedInputs(Path workingDirectory) {
    private static final List<String> FILE_OPTIONS = List.of("-I", "-i", "--include", "--sysroot", "-Xclang", "-F", "@", "-Xpreprocessor", "-Wp,",
            "-fmodule", "-fprofile", "-fplugin");
    private static final Pattern CLOCK = Pattern.compile("\\b__(?:DATE|TIME|TIMESTAMP)__\\b");
    private static final Pattern QUESTION = Pattern.compile("__has_(?:include|embed)");

    /** A text from which a macro could make a name that leads out of the directory of headers. */
    private static final Pattern ABSOLUTE = Pattern.compile("[\"<][ \\t]*/(?![/*])|(?:\\.\\./+){8}");

    /** More steps up lead out of the directory of headers that the compiler gets, to files of the machine. */
    private static final int MOST_STEPS_UP = 8;

    /**
     * The first unseen input, in a sentence that says what to do; empty where the key sees all.
     *
     * @param areFilesListed whether {@code headers} hold all files that a name made by a macro may mean
     */
    Optional<String> reason(List<String> sources, Map<String, String> headers, List<String> options, boolean areFilesListed) {
        for (String option : options) {
            Matcher clock = CLOCK.matcher(option);
            if (clock.find()) {
                return Optional.of(clockReason("option " + option, clock));
            }
            if (FILE_OPTIONS.stream().anyMatch(option::startsWith) || QUESTION.matcher(option).find()) {
                return Optional.of("the option " + option
                        + " may bring in files that the key cannot see: list them as headers, or give an extra digest");
            }
        }
        Set<String> texts = new LinkedHashSet<>(sources);
        texts.add(String.join("", sources)); // drivers put them together without a line end: a directive may begin in one and end in the next
        texts.addAll(headers.values());
        Set<String> includes = new LinkedHashSet<>();
        boolean hasComputed = false;
        boolean hasAbsolute = false;
        for (String text : texts) {
            PreprocessedText read = PreprocessedText.of(text);
            if (read.unclear().isPresent() && !areFilesListed) {
                return Optional.of("the source has " + read.unclear().get() + ", so the key cannot see what it includes: give an extra digest");
            }
            Matcher clock = CLOCK.matcher(read.withoutComments());
            if (clock.find()) {
                return Optional.of(clockReason("source", clock));
            }
            hasComputed |= read.hasComputed() || read.unclear().isPresent();
            hasAbsolute |= areFilesListed && ABSOLUTE.matcher(read.withoutComments()).find();
            includes.addAll(read.names());
        }
        if (hasComputed && (!areFilesListed || hasAbsolute)) {
            return Optional.of("an #include takes its name from a macro, so the key cannot see what it includes: give an extra digest");
        }
        Optional<String> outside = includes.stream().filter(UntrackedInputs::leadsOut).findFirst();
        return outside.isPresent()
                ? Optional.of("the include of " + outside.get() + " leads out of the directory of headers: list it nearer, or give an extra digest")
                : shadowed(includes, headers);
    }

    private static String clockReason(String place, Matcher clock) {
        return "the " + place + " uses " + clock.group() + ", which differs from build to build: give an extra digest";
    }

    /** True for a relative name with so many steps up that the compiler would look for it outside of what it gets. */
    private static boolean leadsOut(String include) {
        int depth = 0;
        for (String step : include.split("/", -1)) {
            depth += step.equals("..") ? -1 : step.isEmpty() || step.equals(".") ? 0 : 1;
            if (depth < -MOST_STEPS_UP) {
                return true;
            }
        }
        return false;
    }

    /**
     * Follows the includes through the working directory: a file found there that is what is listed shadows nothing by itself, but what
     * it includes is looked for beside it.
     */
    private Optional<String> shadowed(Set<String> includes, Map<String, String> headers) {
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
                if (!isListed(found.get(), include, headers)) {
                    return Optional.of("the compiler may find " + include + " in the working directory, and it is not what is listed as"
                            + " that header: list it, run elsewhere, or give an extra digest");
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
            return Optional.empty(); // no file can have that name
        }
    }

    private static Path directoryOf(Path file) {
        try {
            return file.toRealPath().resolveSibling(".").normalize();
        } catch (IOException e) {
            return file.resolveSibling("."); // gone meanwhile, or closed to us: its includes are looked for where its name says
        }
    }

    /** True where the file is, word for word, every header it could be taken for. */
    private static boolean isListed(Path file, String include, Map<String, String> headers) {
        Collection<String> listed = headers.entrySet().stream()
                .filter(header -> header.getKey().equals(include) || header.getKey().endsWith("/" + include))
                .map(Map.Entry::getValue)
                .toList();
        try {
            String found = KernelDescriptor.normalized(new String(Files.readAllBytes(file), UTF_8));
            return !listed.isEmpty() && listed.stream().allMatch(found::equals);
        } catch (IOException e) {
            return false; // what cannot be read cannot be compared
        }
    }
}
