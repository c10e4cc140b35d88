package dev.granary.it.bench.local;

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
import java.util.Locale;

/** All sections of a run: printed as they come, with the goals once more at the end, and as JSON. */
final class Report {
    private final Settings settings;
    private final PrintWriter out;
    private final List<Section> sections = new ArrayList<>();

    Report(Settings settings, PrintWriter out) {
        this.settings = settings;
        this.out = out;
    }

    void heading(Material material) {
        out.printf(Locale.ROOT, "Local tier: seed %d, %,d entries of %,d MB (log-normal, median 32 KiB), page cache warm%n",
                settings.seed(), material.count(), material.bytes() / 1_000_000);
        out.println("The candidates take turns in rounds; / raw: median of the ratios within a round. Nothing syncs.");
        out.println("Every candidate but raw verifies key and CRC-32C of each entry that it gets.");
        out.flush();
    }

    void add(Section section) {
        sections.add(section);
        section.print(out);
    }

    void goals() {
        out.println();
        out.println("== goals of the local tier");
        sections.forEach(section -> section.goals().forEach(out::println));
        out.flush();
    }

    void write(Path file) throws IOException {
        JsonArray all = new JsonArray();
        for (Section section : sections) {
            JsonObject object = new JsonObject();
            object.addProperty("name", section.name());
            object.add("rows", rows(section));
            object.add("goals", goals(section));
            all.add(object);
        }
        JsonObject report = new JsonObject();
        report.addProperty("seed", settings.seed());
        report.addProperty("entries", settings.entries());
        report.addProperty("openEntries", settings.openEntries());
        report.addProperty("rounds", settings.rounds());
        report.add("sections", all);
        Files.writeString(file, new GsonBuilder().setPrettyPrinting().serializeNulls().create().toJson(report) + "\n");
    }

    private static JsonArray rows(Section section) {
        JsonArray rows = new JsonArray();
        for (Section.Row row : section.rows()) {
            JsonObject object = new JsonObject();
            object.addProperty("name", row.label());
            row.figures().forEach((key, figure) -> addNumber(object, key, figure));
            rows.add(object);
        }
        return rows;
    }

    private static JsonArray goals(Section section) {
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
