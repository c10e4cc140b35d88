package dev.granary.benchmarks.harness;

import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The sections of a run: printed as they are added, with the goals once more at the end, and
 * written as JSON.
 */
public final class Report {
    private final Map<String, ? extends Number> settings;
    private final PrintWriter out;
    private final List<ReportSection> sections = new ArrayList<>();

    /**
     * Creates a report without sections.
     *
     * @param settings the settings that the figures depend on, for the JSON
     */
    public Report(Map<String, ? extends Number> settings, PrintWriter out) {
        this.settings = settings;
        this.out = out;
    }

    /** Prints the lines above the sections. */
    public void heading(String... lines) {
        for (String line : lines) {
            out.println(line);
        }
        out.flush();
    }

    /** Adds a section and prints it. */
    public void add(ReportSection section) {
        sections.add(section);
        section.print(out);
    }

    /** Prints all goals once more, if there are any. */
    public void goals(String title) {
        if (sections.stream().allMatch(section -> section.goals().isEmpty())) {
            return;
        }
        out.println();
        out.println("== " + title);
        sections.forEach(section -> section.goals().forEach(out::println));
        out.flush();
    }

    /** Writes all figures as JSON. */
    public void write(Path file) throws IOException {
        JsonArray all = new JsonArray();
        for (ReportSection section : sections) {
            JsonObject object = new JsonObject();
            object.addProperty("name", section.name());
            object.add("rows", rows(section));
            object.add("goals", goals(section));
            all.add(object);
        }
        JsonObject report = new JsonObject();
        settings.forEach(report::addProperty);
        report.add("sections", all);
        Files.writeString(
                file,
                new GsonBuilder().setPrettyPrinting().serializeNulls().create().toJson(report)
                        + "\n");
    }

    private static JsonArray rows(ReportSection section) {
        JsonArray rows = new JsonArray();
        for (ReportSection.Row row : section.rows()) {
            JsonObject object = new JsonObject();
            object.addProperty("name", row.label());
            row.figures().forEach((key, figure) -> addNumber(object, key, figure));
            rows.add(object);
        }
        return rows;
    }

    private static JsonArray goals(ReportSection section) {
        JsonArray goals = new JsonArray();
        for (Goal goal : section.goals()) {
            JsonObject object = new JsonObject();
            object.addProperty("name", goal.name());
            object.addProperty("limit", goal.limit());
            addNumber(object, "figure", goal.figure());
            object.addProperty("verdict", goal.verdict());
            goals.add(object);
        }
        return goals;
    }

    private static void addNumber(JsonObject object, String key, double number) {
        if (Double.isFinite(number)) {
            object.addProperty(key, number);
        } else {
            object.add(key, JsonNull.INSTANCE);
        }
    }
}
