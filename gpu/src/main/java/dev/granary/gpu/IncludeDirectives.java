package dev.granary.gpu;

import java.util.LinkedHashSet;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The {@code #include} directives of a source text, found without preprocessing: those in branches that the preprocessor will skip are
 * found too, and a name that a macro makes is only known to be there.
 *
 * @param names the names between quotes or angle brackets, in order of appearance
 * @param hasComputed true where some directive takes its name from a macro
 */
public record IncludeDirectives(Set<String> names, boolean hasComputed) {
    private static final Pattern DIRECTIVE =
            Pattern.compile("^[ \\t]*#[ \\t]*include\\b[ \\t]*(?:\"([^\"\\n]+)\"|<([^>\\n]+)>|(\\S))", Pattern.MULTILINE);
    private static final Pattern BLOCK_COMMENT = Pattern.compile("/\\*.*?\\*/", Pattern.DOTALL);

    /** Finds the directives of {@code source}. */
    public static IncludeDirectives of(String source) {
        Set<String> names = new LinkedHashSet<>();
        boolean computed = false;
        Matcher matcher = DIRECTIVE.matcher(BLOCK_COMMENT.matcher(source).replaceAll(" "));
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
