package dev.granary.gpu;

import java.util.ArrayList;
import java.util.List;

/**
 * Compiler options as tokens, in one spelling: {@code -D X} becomes {@code -DX}, so that a list and a string of the same options are
 * equal. Quotes group words, as in a shell; a backslash is a character like any other, since drivers know no escapes. The order stays: a
 * later option may override an earlier one.
 */
public final class BuildOptions {
    private static final List<String> WITH_SEPARATE_VALUE = List.of("-D", "-I", "-U", "-include");

    private BuildOptions() {}

    /**
     * The tokens of an option string.
     *
     * @throws IllegalArgumentException if a quote is not closed or a value is missing
     */
    public static List<String> parse(String options) {
        return joinValues(split(options));
    }

    /** The tokens in the spelling that drivers take. */
    public static String format(List<String> tokens) {
        StringBuilder text = new StringBuilder();
        for (String token : tokens) {
            text.append(text.isEmpty() ? "" : " ");
            text.append(token.chars().anyMatch(Character::isWhitespace) ? quoted(token) : token);
        }
        return text.toString();
    }

    /** With the quotes around the value, as in {@code -DX="a b"}: drivers look at an option's first characters. */
    private static String quoted(String token) {
        int equals = token.indexOf('=');
        int value = equals >= 0 ? equals + 1 : Math.min(2, token.length());
        return token.substring(0, value) + '"' + token.substring(value) + '"';
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
            } else if (!Character.isWhitespace(c)) {
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

    private static List<String> joinValues(List<String> tokens) {
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
