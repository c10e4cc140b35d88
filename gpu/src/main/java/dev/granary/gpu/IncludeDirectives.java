package dev.granary.gpu;

import java.util.Optional;
import java.util.Set;

/**
 * The files that a source text asks the preprocessor for, found without preprocessing: those in branches that it will skip are found too,
 * and a name that a macro makes is only known to be there.
 *
 * <p>Seen are {@code #include}, {@code #include_next}, {@code #import}, {@code #embed}, and the questions {@code __has_include},
 * {@code __has_include_next} and {@code __has_embed}, whose answer depends on the same files; in digraph spelling too. Where compilers differ, as
 * with trigraphs and raw strings, or where a branch decides how a line is read, the text is unclear.
 *
 * @param names the names between quotes or angle brackets, in order of appearance
 * @param hasComputed true where some name comes from a macro
 * @param unclear a part of the text, in words, that cannot be read for sure; empty: there is none
 */
public record IncludeDirectives(Set<String> names, boolean hasComputed, Optional<String> unclear) {
    /** Finds the directives of {@code source}, whatever its line endings. */
    public static IncludeDirectives of(String source) {
        return of(PreprocessedText.of(source));
    }

    static IncludeDirectives of(PreprocessedText text) {
        return new IncludeDirectives(text.names(), text.hasComputed(), text.unclear());
    }
}
