package dev.granary.gpu;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Finds what a compiler would read although a descriptor's key does not hold it.
 *
 * @param workingDirectory where the compiler looks for included files before it looks into any {@code -I} directory, as PoCL does
 */
record UnseenInputs(Path workingDirectory) {
    /** The first unseen input, in a sentence that says what to do; empty where the key sees all. */
    Optional<String> reason(List<String> sources, Map<String, String> headers, List<String> options) {
        for (String option : options) {
            if (option.startsWith("-I") || option.startsWith("-include")) {
                return Optional.of("the option " + option
                        + " brings in files that the key cannot see: list them as headers, or give an extra digest");
            }
        }
        List<String> texts = new ArrayList<>(sources);
        texts.addAll(headers.values());
        for (String text : texts) {
            IncludeDirectives directives = IncludeDirectives.of(text);
            if (directives.hasComputed()) {
                return Optional.of("an #include takes its name from a macro, so the key cannot see what it includes: give an extra digest");
            }
            for (String include : directives.names()) {
                if (isShadowed(include, headers)) {
                    return Optional.of("the compiler may find " + include + " in the working directory, and it is not what is listed as"
                            + " that header: list it, run elsewhere, or give an extra digest");
                }
            }
        }
        return Optional.empty();
    }

    /** True where the working directory has a file of that name that is not, word for word, every header it could be taken for. */
    private boolean isShadowed(String include, Map<String, String> headers) {
        Path file;
        try {
            file = workingDirectory.resolve(include);
        } catch (InvalidPathException e) {
            return false; // no file can have that name
        }
        if (!Files.isRegularFile(file)) {
            return false;
        }
        List<String> listed = headers.entrySet().stream()
                .filter(header -> header.getKey().equals(include) || header.getKey().endsWith("/" + include))
                .map(Map.Entry::getValue)
                .toList();
        try {
            String found = KernelDescriptor.normalized(new String(Files.readAllBytes(file), UTF_8));
            return listed.isEmpty() || !listed.stream().allMatch(found::equals);
        } catch (IOException e) {
            return true; // what cannot be read cannot be compared
        }
    }
}
