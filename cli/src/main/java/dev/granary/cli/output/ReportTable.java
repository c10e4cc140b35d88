package dev.granary.cli.output;

import static java.util.stream.Collectors.joining;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Table of a {@link Report}, with its rows as text in aligned columns and as JSON. If it is wider
 * than 80 columns, the column with {@code ~} is truncated, then the first one, but not below 16
 * columns.
 */
public final class ReportTable {
    private static final String JSON_ONLY = "-";
    private static final String GROUP = "=";
    private static final String CUT = "~";
    private static final int WIDTH = 80;
    private static final int GAP = 2;
    private static final int MIN_WIDTH = 16;
    private static final Pattern LEFT = Pattern.compile("^[<~]");

    private final JsonArray json;
    private final List<String> headings;
    private final List<String> shown; // the headings of the text
    private final List<String> titles; // the same without marks
    private final Map<String, List<List<String>>> groups = new LinkedHashMap<>(); // of the text
    private int limit = Integer.MAX_VALUE;
    private int rows;

    ReportTable(JsonArray json, String... headings) {
        this.json = json;
        this.headings = List.of(headings);
        this.shown = this.headings.stream()
                .filter(each -> !each.startsWith(GROUP) && !each.startsWith(JSON_ONLY))
                .map(each -> each.split(":", 2)[0])
                .toList();
        this.titles = shown.stream()
                .map(heading -> LEFT.matcher(heading).replaceFirst(""))
                .toList();
    }

    /** Limits the rows of the text. A line below them says how many more there are. */
    public ReportTable limit(int maxRows) {
        limit = maxRows;
        return this;
    }

    /** Adds a row, with a value for each heading. */
    public ReportTable row(Object... values) {
        JsonObject object = new JsonObject();
        List<String> cells = new ArrayList<>();
        String group = "";
        for (int i = 0; i < values.length; i++) {
            object.add(Report.nameOf(headings.get(i)), Report.json(values[i]));
            String text = Report.withoutControls(Report.text(values[i]));
            if (headings.get(i).startsWith(GROUP)) {
                group = text;
            } else if (!headings.get(i).startsWith(JSON_ONLY)) {
                cells.add(text);
            }
        }
        json.add(object);
        if (rows++ < limit) {
            groups.computeIfAbsent(group, _ -> new ArrayList<>()).add(cells);
        }
        return this;
    }

    /** Returns all rows for a page, with their groups, if there are some, as the first column. */
    public HtmlPage.Table html(String title) {
        String group = headings.getFirst().startsWith(GROUP) ? headings.getFirst() : "";
        List<List<String>> all = new ArrayList<>();
        groups.forEach((name, cells) ->
                cells.forEach(row -> all.add(group.isEmpty() ? row : joined(name, row))));
        return new HtmlPage.Table(
                title, group.isEmpty() ? titles : joined(group.substring(1), titles), all);
    }

    private static List<String> joined(String first, List<String> others) {
        return Stream.concat(Stream.of(first), others.stream()).toList();
    }

    void print(PrintWriter out) {
        groups.forEach((group, cells) -> {
            if (!group.isEmpty()) {
                out.println(group);
            }
            print(cells, out);
            if (!group.isEmpty()) {
                out.println();
            }
        });
        printRest(out);
    }

    private void printRest(PrintWriter out) {
        if (rows > limit) {
            out.println("... and " + Units.count(rows - (long) limit) + " more; --json lists all");
        }
    }

    /** Prints the table, with a blank line before it. */
    void printMarkdown(PrintWriter out) {
        groups.forEach((group, cells) -> {
            out.println(group.isEmpty() ? "" : "\n" + Report.escaped(group) + "\n");
            StringBuilder line = new StringBuilder("|");
            for (int i = 0; i < shown.size(); i++) {
                line.append(i == 0 || LEFT.matcher(shown.get(i)).lookingAt() ? "---|" : "--:|");
            }
            printMarkdown(titles, out);
            out.println(line);
            cells.forEach(row -> printMarkdown(row, out));
        });
        if (rows > limit) {
            out.println(); // ends the table
        }
        printRest(out);
        out.flush();
    }

    private static void printMarkdown(List<String> row, PrintWriter out) {
        out.println(row.stream().map(Report::escaped).collect(joining(" | ", "| ", " |")));
    }

    private void print(List<List<String>> cells, PrintWriter out) {
        List<List<String>> all = new ArrayList<>();
        all.add(titles);
        all.addAll(cells);
        int[] widths = widths(all);
        for (List<String> row : all) {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < row.size(); i++) {
                String cell = Units.cut(row.get(i), widths[i]);
                String padding = " ".repeat(Math.max(0, widths[i] - cell.length()));
                boolean isLeft = i == 0 || LEFT.matcher(shown.get(i)).lookingAt();
                line.append(i == 0 ? "" : " ".repeat(GAP))
                        .append(isLeft ? cell + padding : padding + cell);
            }
            out.println(line.toString().stripTrailing());
        }
        out.flush();
    }

    private int[] widths(List<List<String>> all) {
        int[] widths = new int[shown.size()];
        for (List<String> row : all) {
            for (int i = 0; i < row.size(); i++) {
                widths[i] = Math.max(widths[i], row.get(i).length());
            }
        }
        for (int i = widths.length - 1; i >= 0; i--) {
            if (i == 0 || shown.get(i).startsWith(CUT)) {
                int excess = Arrays.stream(widths).sum() + GAP * (widths.length - 1) - WIDTH;
                widths[i] =
                        Math.max(Math.min(widths[i], MIN_WIDTH), widths[i] - Math.max(0, excess));
            }
        }
        return widths;
    }
}
