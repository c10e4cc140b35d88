package dev.granary.gpu;

import java.util.Optional;
import java.util.Set;

/**
 * The files that a source text includes, found without preprocessing. Files in branches that the
 * preprocessor would skip are found too. Of a name made by a macro, only the existence is reported.
 *
 * <p>Recognized are {@code #include}, {@code #include_next}, {@code #import} and {@code #embed},
 * also with digraphs. The operators {@code __has_include}, {@code __has_include_next} and
 * {@code __has_embed} count as well, since their value depends on the same files. The text is
 * unclear where compilers differ, as with trigraphs and raw strings, or where a branch decides how
 * a line is read.
 *
 * @param names the names between quotes or angle brackets, in order of appearance
 * @param hasComputed true if a macro makes one of the names
 * @param unclear a description of text that cannot be read reliably; empty if there is none
 */
public record IncludeDirectives(Set<String> names, boolean hasComputed, Optional<String> unclear) {
    /** Returns the directives of {@code source}, with any line endings. */
    public static IncludeDirectives of(String source) {
        return of(PreprocessedText.of(source));
    }

    static IncludeDirectives of(PreprocessedText text) {
        return new IncludeDirectives(text.names(), text.hasComputed(), text.unclear());
    }
}
