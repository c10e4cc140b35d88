package dev.granary.gpu;

import java.util.LinkedHashSet;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The files that a source text asks the preprocessor for, found without preprocessing: those in branches that it will skip are found too,
 * and a name that a macro makes is only known to be there.
 *
 * <p>Seen are {@code #include}, {@code #include_next}, {@code #import}, {@code #embed}, and the questions {@code __has_include},
 * {@code __has_include_next} and {@code __has_embed}, whose answer depends on the same files; in digraph spelling too. A text with the
 * trigraphs of a hash or of a backslash is not read at all, since compilers differ in what they make of it.
 *
 * @param names the names between quotes or angle brackets, in order of appearance
 * @param hasComputed true where some name comes from a macro or cannot be read
 */
public record IncludeDirectives(Set<String> names, boolean hasComputed) {
    private static final Pattern DIRECTIVE = Pattern.compile(
            "(?:^[ \\t\\f\\x0B]*(?:#|%:)[ \\t\\f\\x0B]*(?:include_next|include|import|embed)\\b"
                    + "|\\b__has_(?:include_next|include|embed)\\b[ \\t]*\\()"
                    + "[ \\t\\f\\x0B]*(?:\"([^\"\\n]+)\"|<([^>\\n]+)>|(\\S))",
            Pattern.MULTILINE);

    /** Finds the directives of {@code source}. */
    public static IncludeDirectives of(String source) {
        Set<String> names = new LinkedHashSet<>();
        boolean computed = source.contains("??=") || source.contains("??/");
        Matcher matcher = DIRECTIVE.matcher(SourceText.withoutComments(source));
        while (matcher.find()) {
            if (matcher.group(1) != null) {
                names.add(matcher.group(1));
            } else if (matcher.group(2) != null) {
                names.add(matcher.group(2));
            } else {
                computed = true;
            }
        }
        return new IncludeDirectives(names, computed);
    }
}
