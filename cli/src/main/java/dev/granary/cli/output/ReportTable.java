package dev.granary.cli.output;

import static java.util.stream.Collectors.joining;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Table of a {@link Report}, with its rows as text in aligned columns and as JSON. If it is wider
 * than 80 columns, the column with {@code ~} is truncated, then the first one, but not below 16
 * columns.
 *
 * @param <R> the type of a row
 */
public final class ReportTable<R> {
    private static final String JSON_ONLY = "-";
    private static final String GROUP = "=";
    private static final String CUT = "~";
    private static final int WIDTH = 80;
    private static final int GAP = 2;
    private static final int MIN_WIDTH = 16;
    private static final Pattern LEFT = Pattern.compile("^[<~]");

    private final List<R> rows;
    private final List<JsonObject> objects = new ArrayList<>(); // of the rows
    private final List<String> groups = new ArrayList<>(); // of the rows
    private final List<List<String>> cells = new ArrayList<>(); // of the text, by row
    private final List<String> headings = new ArrayList<>(); // of the text
    private String groupHeading = "";
    private int limit = Integer.MAX_VALUE;

    ReportTable(JsonArray json, Collection<R> rows) {
        this.rows = List.copyOf(rows);
        for (int i = 0; i < rows.size(); i++) {
            objects.add(new JsonObject());
            groups.add("");
            cells.add(new ArrayList<>());
            json.add(objects.getLast());
        }
    }

    /** Limits the rows of the text. A line below them says how many more there are. */
    public void limit(int maxRows) {
        limit = maxRows;
    }

    /**
     * Adds a column. If its heading begins with {@code <} it is aligned to the left, with {@code ~}
     * to the left and its cells are cut to fit the line, with {@code -} it is in JSON only, and
     * with {@code =} it is a line above its rows.
     *
     * @param value the value of a row
     */
    public ReportTable<R> column(String heading, Function<? super R, ?> value) {
        boolean isGroup = heading.startsWith(GROUP);
        boolean isCell = !isGroup && !heading.startsWith(JSON_ONLY);
        if (isCell) {
            headings.add(heading.split(":", 2)[0]);
        } else if (isGroup) {
            groupHeading = heading.substring(1);
        }
        for (int i = 0; i < rows.size(); i++) {
            Object cell = value.apply(rows.get(i));
            objects.get(i).add(Report.nameOf(heading), Report.json(cell));
            String text = Report.withoutControls(Report.text(cell));
            if (isCell) {
                cells.get(i).add(text);
            } else if (isGroup) {
                groups.set(i, text);
            }
        }
        return this;
    }

    private List<String> titles() {
        return headings.stream()
                .map(heading -> LEFT.matcher(heading).replaceFirst(""))
                .toList();
    }

    /** Returns all rows for a page, with their groups, if there are some, as the first column. */
    public HtmlPage.Table html(String title) {
        if (groupHeading.isEmpty()) {
            return new HtmlPage.Table(title, titles(), cells);
        }
        List<List<String>> all = IntStream.range(0, rows.size())
                .mapToObj(i -> joined(groups.get(i), cells.get(i)))
                .toList();
        return new HtmlPage.Table(title, joined(groupHeading, titles()), all);
    }

    private static List<String> joined(String first, List<String> others) {
        return Stream.concat(Stream.of(first), others.stream()).toList();
    }

    private Map<String, List<List<String>>> byGroup() {
        Map<String, List<List<String>>> byGroup = new LinkedHashMap<>();
        for (int i = 0; i < Math.min(limit, rows.size()); i++) {
            byGroup.computeIfAbsent(groups.get(i), _ -> new ArrayList<>()).add(cells.get(i));
        }
        return byGroup;
    }

    void print(PrintWriter out) {
        byGroup().forEach((group, shown) -> {
            if (!group.isEmpty()) {
                out.println(group);
            }
            print(shown, out);
            if (!group.isEmpty()) {
                out.println();
            }
        });
        printRest(out);
    }

    private void printRest(PrintWriter out) {
        if (rows.size() > limit) {
            out.println("... and " + Units.count(rows.size() - (long) limit)
                    + " more; --json lists all");
        }
    }

    /** Prints the table, with a blank line before it. */
    void printMarkdown(PrintWriter out) {
        byGroup().forEach((group, shown) -> {
            out.println(group.isEmpty() ? "" : "\n" + Report.escaped(group) + "\n");
            StringBuilder line = new StringBuilder("|");
            for (int i = 0; i < headings.size(); i++) {
                line.append(i == 0 || LEFT.matcher(headings.get(i)).lookingAt() ? "---|" : "--:|");
            }
            printMarkdown(titles(), out);
            out.println(line);
            shown.forEach(row -> printMarkdown(row, out));
        });
        if (rows.size() > limit) {
            out.println(); // ends the table
        }
        printRest(out);
        out.flush();
    }

    private static void printMarkdown(List<String> row, PrintWriter out) {
        out.println(row.stream().map(Report::escaped).collect(joining(" | ", "| ", " |")));
    }

    private void print(List<List<String>> shown, PrintWriter out) {
        List<List<String>> all = new ArrayList<>(shown);
        all.addFirst(titles());
        int[] widths = widths(all);
        for (List<String> row : all) {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < row.size(); i++) {
                String cell = Units.cut(row.get(i), widths[i]);
                String padding = " ".repeat(Math.max(0, widths[i] - cell.length()));
                boolean isLeft = i == 0 || LEFT.matcher(headings.get(i)).lookingAt();
                line.append(i == 0 ? "" : " ".repeat(GAP))
                        .append(isLeft ? cell + padding : padding + cell);
            }
            out.println(line.toString().stripTrailing());
        }
        out.flush();
    }

    private int[] widths(List<List<String>> all) {
        int[] widths = new int[headings.size()];
        for (List<String> row : all) {
            for (int i = 0; i < row.size(); i++) {
                widths[i] = Math.max(widths[i], row.get(i).length());
            }
        }
        for (int i = widths.length - 1; i >= 0; i--) {
            if (i == 0 || headings.get(i).startsWith(CUT)) {
                int excess = Arrays.stream(widths).sum() + GAP * (widths.length - 1) - WIDTH;
                widths[i] =
                        Math.max(Math.min(widths[i], MIN_WIDTH), widths[i] - Math.max(0, excess));
            }
        }
        return widths;
    }
}
