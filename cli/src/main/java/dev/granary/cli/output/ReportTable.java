package dev.granary.cli.output;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Table of a {@link Report}, with its rows as text and as JSON. */
public final class ReportTable {
    private static final String JSON_ONLY = "-";
    private static final String GROUP = "=";

    private final JsonArray json;
    private final List<String> headings;
    private final Map<String, TextTable> groups = new LinkedHashMap<>(); // of the printed rows
    private int limit = Integer.MAX_VALUE;
    private int rows;

    ReportTable(JsonArray json, String... headings) {
        this.json = json;
        this.headings = List.of(headings);
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
            if (headings.get(i).startsWith(GROUP)) {
                group = Report.text(values[i]);
            } else if (!headings.get(i).startsWith(JSON_ONLY)) {
                cells.add(Report.text(values[i]));
            }
        }
        json.add(object);
        if (rows++ < limit) {
            groups.computeIfAbsent(group, _ -> new TextTable(shownHeadings()))
                    .row(cells.toArray(String[]::new));
        }
        return this;
    }

    private String[] shownHeadings() {
        return headings.stream()
                .filter(each -> !each.startsWith(GROUP) && !each.startsWith(JSON_ONLY))
                .map(each -> each.split(":", 2)[0])
                .toArray(String[]::new);
    }

    void print(PrintWriter out) {
        groups.forEach((group, table) -> {
            if (!group.isEmpty()) {
                out.println(group);
            }
            table.print(out);
            if (!group.isEmpty()) {
                out.println();
            }
        });
        if (rows > limit) {
            out.println("... and " + Units.count(rows - (long) limit) + " more; --json lists all");
        }
    }
}
