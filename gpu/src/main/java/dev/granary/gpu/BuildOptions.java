package dev.granary.gpu;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Parser and formatter of compiler options as tokens in one normal form.
 *
 * <p>{@code -D X} becomes {@code -DX}, so that a list and a string of the same options are equal.
 * Quotes of both kinds group words, as in a shell. A backslash has no special meaning, since
 * drivers do not support escapes. ASCII white space separates options. The order is kept, since a
 * later option may override an earlier one, except for {@linkplain #ordered flags without a value}.
 */
public final class BuildOptions {
    private static final List<String> WITH_SEPARATE_VALUE = List.of("-D", "-I", "-U", "-include");
    private static final String WHITE_SPACE = " \t\n\013\f\r";

    /**
     * Flags of the OpenCL specification that nothing revokes. The specification gives their order
     * no meaning.
     */
    private static final Set<String> FLAGS = Set.of(
            "-cl-denorms-are-zero",
            "-cl-fast-relaxed-math",
            "-cl-finite-math-only",
            "-cl-fp32-correctly-rounded-divide-sqrt",
            "-cl-kernel-arg-info",
            "-cl-mad-enable",
            "-cl-no-signed-zeros",
            "-cl-single-precision-constant",
            "-cl-strict-aliasing",
            "-cl-unsafe-math-optimizations");

    /**
     * Matches options that no such flag affects. Names that begin with an underscore are excluded:
     * PoCL defines {@code __FAST_RELAXED_MATH__} at the place of the flag.
     */
    private static final Pattern INDEPENDENT =
            Pattern.compile("-[DU][A-Za-z].*|-I.+|-cl-std=.+|-w|-Werror", Pattern.DOTALL);

    private BuildOptions() {}

    /**
     * Returns the tokens of an option string.
     *
     * @throws IllegalArgumentException if a quote is not closed, an option is empty, or a value is
     *     missing or empty
     */
    public static List<String> parse(String options) {
        return joinValues(split(options));
    }

    /** Returns the text of {@code tokens}: the inverse of {@link #parse}. */
    public static String format(List<String> tokens) {
        return String.join(" ", tokens.stream().map(BuildOptions::quoted).toList());
    }

    /**
     * Returns the option string for {@code clBuildProgram}. Values with white space are enclosed in
     * double quotes, the only quotes that drivers support. PoCL drops a double quote inside a
     * value.
     */
    public static String forDriver(List<String> tokens) {
        return String.join(
                " ", tokens.stream().map(BuildOptions::quotedForDriver).toList());
    }

    /** Returns true for a macro, an include directory or an included file. */
    static boolean isForPreprocessor(String token) {
        return WITH_SEPARATE_VALUE.stream().anyMatch(token::startsWith);
    }

    /**
     * Returns the tokens with each flag once, at the end, in alphabetical order. The tokens stay as
     * they are if one of them is neither a known flag nor independent of all flags.
     */
    static List<String> ordered(List<String> tokens) {
        if (!tokens.stream()
                .allMatch(token ->
                        FLAGS.contains(token) || INDEPENDENT.matcher(token).matches())) {
            return List.copyOf(tokens);
        }
        return Stream.concat(
                        tokens.stream().filter(token -> !FLAGS.contains(token)),
                        tokens.stream().filter(FLAGS::contains).distinct().sorted())
                .toList();
    }

    private static String quotedForDriver(String token) {
        int value = valueStart(token);
        return hasWhiteSpace(token)
                ? token.substring(0, value) + '"' + token.substring(value) + '"'
                : token;
    }

    /**
     * Encloses double quotes in single quotes, and other text that needs quotes in double quotes.
     */
    private static String quoted(String token) {
        if (!token.isEmpty()
                && !hasWhiteSpace(token)
                && token.indexOf('"') < 0
                && token.indexOf('\'') < 0) {
            return token;
        }
        int position = valueStart(token);
        StringBuilder text = new StringBuilder(token.substring(0, position));
        do {
            char quote = position < token.length() && token.charAt(position) == '"' ? '\'' : '"';
            int end = token.indexOf(quote, position);
            text.append(quote)
                    .append(token, position, end < 0 ? token.length() : end)
                    .append(quote);
            position = end < 0 ? token.length() : end;
        } while (position < token.length());
        return text.toString();
    }

    /**
     * Returns the index at which the quoted value begins, as in {@code -DX="a b"}: drivers
     * recognize an option by its first characters.
     */
    private static int valueStart(String token) {
        int equals = token.indexOf('=');
        int value = equals >= 0 ? equals + 1 : Math.min(2, token.length());
        for (int i = 0; i < value; i++) {
            char c = token.charAt(i);
            if (isWhiteSpace(c) || c == '"' || c == '\'') {
                return i;
            }
        }
        return value;
    }

    private static boolean hasWhiteSpace(String token) {
        return token.chars().anyMatch(BuildOptions::isWhiteSpace);
    }

    private static boolean isWhiteSpace(int c) {
        return WHITE_SPACE.indexOf(c) >= 0;
    }

    private static List<String> split(String options) {
        List<String> tokens = new ArrayList<>();
        StringBuilder token = new StringBuilder();
        boolean inToken = false;
        char quote = 0;
        for (int i = 0; i < options.length(); i++) {
            char c = options.charAt(i);
            if (quote != 0 && c == quote) {
                quote = 0;
            } else if (quote != 0) {
                token.append(c);
            } else if (c == '"' || c == '\'') {
                quote = c;
                inToken = true;
            } else if (!isWhiteSpace(c)) {
                token.append(c);
                inToken = true;
            } else if (inToken) {
                tokens.add(token.toString());
                token.setLength(0);
                inToken = false;
            }
        }
        if (quote != 0) {
            throw new IllegalArgumentException(
                    "A quote is not closed in the build options: " + options);
        }
        if (inToken) {
            tokens.add(token.toString());
        }
        return tokens;
    }

    /**
     * Returns the tokens in the normal form of {@link #parse}: an option and its value are one
     * token.
     *
     * @throws IllegalArgumentException if a token is empty or a value is missing
     */
    static List<String> joinValues(List<String> tokens) {
        if (tokens.stream().anyMatch(String::isEmpty)) {
            throw new IllegalArgumentException(
                    "A build option is empty, or the value of -D, -I, -U or -include is");
        }
        List<String> joined = new ArrayList<>();
        for (int i = 0; i < tokens.size(); i++) {
            String token = tokens.get(i);
            if (!WITH_SEPARATE_VALUE.contains(token)) {
                joined.add(token);
            } else if (i + 1 < tokens.size()) {
                joined.add(token + tokens.get(++i));
            } else {
                throw new IllegalArgumentException("The build option " + token + " needs a value");
            }
        }
        return List.copyOf(joined);
    }
}
