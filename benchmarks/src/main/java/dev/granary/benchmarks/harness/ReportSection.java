package dev.granary.benchmarks.harness;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** A table of the output: one row for each candidate, its goals, and notes. */
public final class ReportSection {
    private static final int LABEL_WIDTH = 17;
    private static final int WIDTH = 100;
    private static final int NOTE_INDENT = 5;

    private final String name;
    private final String title;
    private final List<Column> columns;
    private final List<Row> rows = new ArrayList<>();
    private final List<Goal> goals = new ArrayList<>();
    private final List<String> notes = new ArrayList<>();

    /**
     * A column of the table.
     *
     * @param key the name in JSON
     * @param heading the name on the terminal
     * @param decimals the number of decimal places
     * @param none the text in place of a missing figure
     */
    public record Column(String key, String heading, int decimals, String none) {
        /** Creates a column that shows a dash in place of a missing figure. */
        public Column(String key, String heading, int decimals) {
            this(key, heading, decimals, "-");
        }
    }

    /**
     * A row of the table.
     *
     * @param label the name of the row
     * @param figures the figures, by the key of their column
     */
    public record Row(String label, Map<String, Double> figures) {}

    /** Creates a table without rows. */
    public ReportSection(String name, String title, Column... columns) {
        this.name = name;
        this.title = title;
        this.columns = List.of(columns);
    }

    /** Adds a row. The figures have the order of the columns; NaN stands for a missing one. */
    public void row(String label, double... figures) {
        Map<String, Double> byKey = new LinkedHashMap<>();
        for (int i = 0; i < columns.size(); i++) {
            byKey.put(columns.get(i).key(), i < figures.length ? figures[i] : Double.NaN);
        }
        rows.add(new Row(label, byKey));
    }

    /** Adds a goal. */
    public void goal(Goal goal) {
        goals.add(goal);
    }

    /** Adds a note; it is broken into lines. */
    public void note(String text) {
        StringBuilder lines = new StringBuilder("note:");
        int width = lines.length();
        for (String word : text.split(" ")) {
            if (width + 1 + word.length() > WIDTH) {
                lines.append(System.lineSeparator()).append("     ");
                width = NOTE_INDENT;
            }
            lines.append(' ').append(word);
            width += 1 + word.length();
        }
        notes.add(lines.toString());
    }

    String name() {
        return name;
    }

    List<Row> rows() {
        return rows;
    }

    List<Goal> goals() {
        return goals;
    }

    void print(PrintWriter out) {
        out.println();
        out.println("== " + title);
        int[] widths = columns.stream()
                .mapToInt(column -> Math.max(7, column.heading().length()))
                .toArray();
        StringBuilder heading = new StringBuilder(" ".repeat(LABEL_WIDTH));
        for (int i = 0; i < widths.length; i++) {
            heading.append("  ").append(padded(columns.get(i).heading(), widths[i]));
        }
        out.println(heading);
        for (Row row : rows) {
            StringBuilder line = new StringBuilder(row.label())
                    .repeat(' ', Math.max(0, LABEL_WIDTH - row.label().length()));
            for (int i = 0; i < widths.length; i++) {
                line.append("  ").append(padded(cell(columns.get(i), row), widths[i]));
            }
            out.println(line);
        }
        goals.forEach(out::println);
        notes.forEach(out::println);
        out.flush();
    }

    private static String cell(Column column, Row row) {
        double figure = row.figures().getOrDefault(column.key(), Double.NaN);
        return Double.isNaN(figure)
                ? column.none()
                : String.format(Locale.ROOT, "%,." + column.decimals() + "f", figure);
    }

    private static String padded(String text, int width) {
        return " ".repeat(Math.max(0, width - text.length())) + text;
    }
}
