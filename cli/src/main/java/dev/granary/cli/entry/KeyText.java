package dev.granary.cli.entry;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Id;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;

import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;

/** Text form of the fields of a key. */
final class KeyText {
    private static final int MAX_CHARACTERS = 43;
    private static final int MAX_FIELDS = 30;

    /** Number of target fields, which come first in every id and are shown separately. */
    private static final int TARGET_FIELDS = 4;

    private KeyText() {}

    /** Returns the value as text; digests and values that are not UTF-8 text as hex digits. */
    static String of(Id.Field field) {
        byte[] value = field.value();
        boolean isText = !field.name().equals("sha256")
                && Arrays.equals(field.text().getBytes(UTF_8), value);
        return isText ? field.text() : HexFormat.of().formatHex(value);
    }

    /** Adds all fields in full. The lines of a longer value follow its name, indented. */
    static void addWhole(Id id, Report report) {
        addData(id, report);
        for (Id.Field field : id.fields()) {
            List<String> lines = of(field).replace("\t", "    ").lines().toList();
            if (lines.size() <= 1) {
                report.line((field.name() + ": " + String.join("", lines)).stripTrailing());
            } else {
                report.line(field.name() + ":");
                lines.forEach(line -> report.line("    " + line));
            }
        }
    }

    /** Adds all fields to JSON, and the short values of the first to the text. */
    static void add(Id id, Report report) {
        addData(id, report);
        List<Id.Field> fields = id.fields().subList(TARGET_FIELDS, id.fields().size());
        fields.stream()
                .limit(MAX_FIELDS)
                .forEach(field -> report.text("  " + field.name(), shortened(field)));
        if (fields.size() > MAX_FIELDS) {
            report.line("  ... and " + (fields.size() - MAX_FIELDS)
                    + " more fields of the key; --key shows all");
        }
    }

    private static void addData(Id id, Report report) {
        for (Id.Field field : id.fields()) {
            report.part("key").data("name", field.name()).data("value", of(field));
        }
    }

    private static String shortened(Id.Field field) {
        String text = of(field).strip().replaceAll("\\s+", " ");
        String start = Units.cut(text, MAX_CHARACTERS);
        return start.equals(text) ? text : start + " (" + field.value().length + " bytes)";
    }
}
