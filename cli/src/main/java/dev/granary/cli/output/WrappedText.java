package dev.granary.cli.output;

import java.io.PrintWriter;
import java.util.regex.Pattern;

/** Formatter of labelled text in lines of at most 80 columns, with the text in one column. */
public final class WrappedText {
    private static final int WIDTH = 80;
    private static final int LABEL_WIDTH = 11;
    private static final Pattern CONTROL = Pattern.compile("\\p{Cc}");

    private WrappedText() {}

    /**
     * Prints a text behind a label, which should have at most 10 characters. Words longer than a
     * line are cut. Control characters are replaced: they could steer the terminal, and labels and
     * texts may come from other machines.
     */
    public static void print(PrintWriter out, String label, String text) {
        StringBuilder line = new StringBuilder(CONTROL.matcher(label).replaceAll("?"));
        line.repeat(' ', Math.max(1, LABEL_WIDTH - label.length()));
        boolean isEmpty = true;
        for (String word : CONTROL.matcher(text).replaceAll(" ").strip().split(" +")) {
            String rest = word;
            if (!isEmpty && line.length() + 1 + rest.length() > WIDTH) {
                out.println(line);
                line.setLength(0);
                line.repeat(' ', LABEL_WIDTH);
                isEmpty = true;
            }
            while (LABEL_WIDTH + rest.length() > WIDTH) {
                out.println(line + rest.substring(0, WIDTH - LABEL_WIDTH));
                rest = rest.substring(WIDTH - LABEL_WIDTH);
                line.setLength(0);
                line.repeat(' ', LABEL_WIDTH);
            }
            line.append(isEmpty ? "" : " ").append(rest);
            isEmpty = false;
        }
        out.println(line.toString().stripTrailing());
    }
}
