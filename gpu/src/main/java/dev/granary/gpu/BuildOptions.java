package dev.granary.gpu;

import java.util.ArrayList;
import java.util.List;

/**
 * Compiler options as tokens, in one spelling: {@code -D X} becomes {@code -DX}, so that a list and a string of the same options are
 * equal. Quotes of both kinds group words, as in a shell; a backslash is a character like any other, since drivers know no escapes. Between
 * options there is white space of ASCII, as for drivers. The order stays: a later option may override an earlier one.
 */
public final class BuildOptions {
    private static final List<String> WITH_SEPARATE_VALUE = List.of("-D", "-I", "-U", "-include");
    private static final String BLANKS = " \t\n\013\f\r";

    private BuildOptions() {}

    /**
     * The tokens of an option string.
     *
     * @throws IllegalArgumentException if a quote is not closed, an option is empty, or a value is missing or empty
     */
    public static List<String> parse(String options) {
        return joinValues(split(options));
    }

    /** The inverse of {@link #parse}: the text of {@code tokens} that parses to them again. */
    public static String format(List<String> tokens) {
        return String.join(" ", tokens.stream().map(BuildOptions::quoted).toList());
    }

    /**
     * The tokens as {@code clBuildProgram} takes them. Values with white space stand between double quotes, the only ones that drivers know; PoCL
     * has no spelling for a double quote inside a value and drops it.
     */
    static String forDriver(List<String> tokens) {
        return String.join(" ", tokens.stream().map(BuildOptions::spaced).toList());
    }

    private static String spaced(String token) {
        int value = beforeValue(token);
        return hasBlank(token) ? token.substring(0, value) + '"' + token.substring(value) + '"' : token;
    }

    /** Double quotes stand between single ones, and all else that needs quotes between double ones. */
    private static String quoted(String token) {
        if (!token.isEmpty() && !hasBlank(token) && token.indexOf('"') < 0 && token.indexOf('\'') < 0) {
            return token;
        }
        int at = beforeValue(token);
        StringBuilder text = new StringBuilder(token.substring(0, at));
        do {
            char quote = at < token.length() && token.charAt(at) == '"' ? '\'' : '"';
            int end = token.indexOf(quote, at);
            text.append(quote).append(token, at, end < 0 ? token.length() : end).append(quote);
            at = end < 0 ? token.length() : end;
        } while (at < token.length());
        return text.toString();
    }

    /** Where the quotes around a value begin, as in {@code -DX="a b"}: drivers look at an option's first characters. */
    private static int beforeValue(String token) {
        int equals = token.indexOf('=');
        int value = equals >= 0 ? equals + 1 : Math.min(2, token.length());
        for (int i = 0; i < value; i++) {
            char c = token.charAt(i);
            if (isBlank(c) || c == '"' || c == '\'') {
                return i;
            }
        }
        return value;
    }

    private static boolean hasBlank(String token) {
        return token.chars().anyMatch(BuildOptions::isBlank);
    }

    private static boolean isBlank(int c) {
        return BLANKS.indexOf(c) >= 0;
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
            } else if (!isBlank(c)) {
                token.append(c);
                inToken = true;
            } else if (inToken) {
                tokens.add(token.toString());
                token.setLength(0);
                inToken = false;
            }
        }
        if (quote != 0) {
            throw new IllegalArgumentException("A quote is not closed in the build options: " + options);
        }
        if (inToken) {
            tokens.add(token.toString());
        }
        return tokens;
    }

    /**
     * The tokens in the spelling of {@link #parse}: an option and its value are one token.
     *
     * @throws IllegalArgumentException if one is empty, or a value is missing
     */
    static List<String> joinValues(List<String> tokens) {
        if (tokens.stream().anyMatch(String::isEmpty)) {
            throw new IllegalArgumentException("A build option is empty, or the value of -D, -I, -U or -include is");
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
