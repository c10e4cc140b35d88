package dev.granary.gpu;

import java.util.regex.Pattern;

/** The text of a C source as the preprocessor's directives see it: lines joined where they end in a backslash, comments gone. */
final class SourceText {
    private static final Pattern LINE_SPLICE = Pattern.compile("\\\\[ \\t]*\n");

    private final String text;
    private final StringBuilder out;
    private int at;

    private SourceText(String text) {
        this.text = text;
        this.out = new StringBuilder(text.length());
    }

    /**
     * The text with each comment replaced by a space. Quotes inside comments and comment marks inside literals have no meaning; a literal
     * ends with its line at the latest, so that an apostrophe in a skipped branch hides nothing.
     *
     * @param source with {@code \n} as line ending
     */
    static String withoutComments(String source) {
        SourceText scan = new SourceText(LINE_SPLICE.matcher(source).replaceAll(""));
        while (scan.at < scan.text.length()) {
            scan.step();
        }
        return scan.out.toString();
    }

    private void step() {
        char c = text.charAt(at);
        if (text.startsWith("//", at)) {
            at = endOf("\n", at, 0);
            out.append(' ');
        } else if (text.startsWith("/*", at)) {
            at = endOf("*/", at + 2, 2);
            out.append(' ');
        } else if (c == '"' || c == '\'') {
            literal(c);
        } else {
            out.append(c);
            at++;
        }
    }

    /** Copies a literal, its delimiters included. */
    private void literal(char quote) {
        int start = at++;
        while (at < text.length() && text.charAt(at) != '\n') {
            char c = text.charAt(at++);
            if (c == quote) {
                break;
            }
            if (c == '\\' && at < text.length() && text.charAt(at) != '\n') {
                at++;
            }
        }
        out.append(text, start, at);
    }

    private int endOf(String mark, int from, int length) {
        int found = text.indexOf(mark, from);
        return found < 0 ? text.length() : found + length;
    }
}
