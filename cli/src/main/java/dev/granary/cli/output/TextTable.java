package dev.granary.cli.output;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Table of text in aligned columns. The first column is aligned to the left, the others to the
 * right unless their heading begins with {@code <} or {@code ~}. If the table is wider than 80
 * columns, that with {@code ~} is truncated, then the first one, but not below 16 columns.
 */
public final class TextTable {
    private static final int WIDTH = 80;
    private static final int GAP = 2;
    private static final int MIN_WIDTH = 16;
    private static final Pattern MARK = Pattern.compile("^[<~]");
    private static final Pattern CONTROL = Pattern.compile("\\p{Cc}");

    private final List<String> headings;
    private final List<List<String>> rows = new ArrayList<>();

    public TextTable(String... headings) {
        this.headings = List.of(headings);
    }

    public TextTable row(String... cells) {
        rows.add(Arrays.stream(cells).map(TextTable::withoutControls).toList());
        return this;
    }

    /**
     * Replaces control characters, which could steer the terminal: cells may come from other
     * machines.
     */
    private static String withoutControls(String cell) {
        return CONTROL.matcher(cell).replaceAll("?");
    }

    public void print(PrintWriter out) {
        int[] widths = new int[headings.size()];
        List<String> shown = headings.stream()
                .map(heading -> MARK.matcher(heading).replaceFirst(""))
                .toList();
        List<List<String>> all = new ArrayList<>(List.of(shown));
        all.addAll(rows);
        for (List<String> row : all) {
            for (int i = 0; i < row.size(); i++) {
                widths[i] = Math.max(widths[i], row.get(i).length());
            }
        }
        for (int i = widths.length - 1; i >= 0; i--) {
            if (i == 0 || headings.get(i).startsWith("~")) {
                int excess = Arrays.stream(widths).sum() + GAP * (widths.length - 1) - WIDTH;
                widths[i] =
                        Math.max(Math.min(widths[i], MIN_WIDTH), widths[i] - Math.max(0, excess));
            }
        }
        for (List<String> row : all) {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < row.size(); i++) {
                String cell = Units.cut(row.get(i), widths[i]);
                String padding = " ".repeat(Math.max(0, widths[i] - cell.length()));
                boolean left = i == 0 || MARK.matcher(headings.get(i)).lookingAt();
                line.append(i == 0 ? "" : " ".repeat(GAP))
                        .append(left ? cell + padding : padding + cell);
            }
            out.println(line.toString().stripTrailing());
        }
        out.flush();
    }
}
