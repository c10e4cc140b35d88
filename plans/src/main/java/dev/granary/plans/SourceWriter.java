package dev.granary.plans;

/** Writer of indented lines of C. */
final class SourceWriter {
    private static final String INDENT = "    ";
    private static final int COLUMNS = 100;

    private final StringBuilder text = new StringBuilder();
    private int depth;

    void line(String line) {
        text.append(line.isEmpty() ? "" : INDENT.repeat(depth)).append(line).append('\n');
    }

    /** Writes a line that does not count for the indentation. */
    void unindented(String line) {
        text.append(line).append('\n');
    }

    /** Writes a comment, in several lines if it is long. */
    void comment(String words) {
        StringBuilder line = new StringBuilder("//");
        int width = COLUMNS - INDENT.length() * depth;
        for (String word : words.split(" ")) {
            if (line.length() + 1 + word.length() > width && line.length() > 2) {
                line(line.toString());
                line.setLength(2);
            }
            line.append(' ').append(word);
        }
        line(line.toString());
    }

    void open(String header) {
        line(header + " {");
        depth++;
    }

    /** Opens a loop over an index. */
    void openLoop(Object index, Object start, Object end, int step) {
        open("for (int " + index + " = " + start + "; " + index + " < " + end + "; "
                + (step == 1 ? "++" + index : index + " += " + step) + ")");
    }

    void close() {
        depth--;
        line("}");
    }

    void closeAnd(String header) {
        depth--;
        open("} " + header);
    }

    @Override
    public String toString() {
        return text.toString();
    }
}
