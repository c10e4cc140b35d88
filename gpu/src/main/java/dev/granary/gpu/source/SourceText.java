package dev.granary.gpu.source;

import java.util.ArrayList;
import java.util.List;

/** Normalization of source texts, so that equal programs have equal keys. */
public final class SourceText {
    private SourceText() {}

    /** Returns the text with {@code \n} as line ending. */
    public static String normalized(String text) {
        return text.replace("\r\n", "\n").replace('\r', '\n');
    }

    /**
     * Returns the texts with exactly one line ending at the end of the last, since neither a
     * missing nor a further one changes a program. A text that ends with a continued line stays as
     * it is.
     */
    public static List<String> ended(List<String> texts) {
        String last = texts.getLast();
        int end = last.length();
        while (end > 0 && last.charAt(end - 1) == '\n') {
            end--;
        }
        if (end == last.length() - 1 || isContinued(last)) {
            return List.copyOf(texts);
        }
        List<String> ended = new ArrayList<>(texts);
        ended.set(texts.size() - 1, last.substring(0, end) + "\n");
        return List.copyOf(ended);
    }

    /** Returns true if the last line of a text would continue on a line that is added. */
    private static boolean isContinued(String text) {
        int end = text.length();
        while (end > 0 && Character.isWhitespace(text.charAt(end - 1))) {
            end--;
        }
        return text.startsWith("\\", end - 1) || text.startsWith("??/", end - 3);
    }
}
