package dev.granary.cli.key;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Id;
import dev.granary.cli.output.Report;

import java.io.PrintWriter;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Pattern;

/** Text form of the fields of a key. */
public final class KeyText {
    private static final Pattern CONTROL = Pattern.compile("[\\p{Cc}&&[^\t]]");

    private static final int MAX_CHARACTERS = 40;
    private static final int MAX_FIELDS = 30;

    /** Number of target fields, which come first in every id and are shown separately. */
    private static final int TARGET_FIELDS = 4;

    private KeyText() {}

    /** Returns the value as text; digests and values that are not UTF-8 text as hex digits. */
    public static String of(Id.Field field) {
        byte[] value = field.value();
        boolean isText = !field.name().equals("sha256")
                && Arrays.equals(field.text().getBytes(UTF_8), value);
        return isText ? field.text() : HexFormat.of().formatHex(value);
    }

    /**
     * Prints all fields in full, one a line. The lines of a longer value follow its name, indented.
     */
    public static void print(Id id, PrintWriter out) {
        for (Id.Field field : id.fields()) {
            List<String> lines = of(field).lines().map(KeyText::withoutControls).toList();
            String name = withoutControls(field.name());
            if (lines.size() <= 1) {
                out.println((name + ": " + String.join("", lines)).stripTrailing());
            } else {
                out.println(name + ":");
                lines.forEach(line -> out.println("    " + line));
            }
        }
        out.flush();
    }

    /** Adds all fields to JSON, and the short values of the first to the text. */
    public static void add(Id id, Report report) {
        id.fields()
                .forEach(field ->
                        report.part("key").data("name", field.name()).data("value", of(field)));
        List<Id.Field> fields = id.fields().subList(TARGET_FIELDS, id.fields().size());
        fields.stream()
                .limit(MAX_FIELDS)
                .forEach(field -> report.text("  " + field.name(), shortened(field)));
        if (fields.size() > MAX_FIELDS) {
            report.line("  ... and " + (fields.size() - MAX_FIELDS)
                    + " more fields of the key; --key shows all");
        }
    }

    private static String shortened(Id.Field field) {
        String text = of(field).strip().replaceAll("\\s+", " ");
        String start = abbreviated(text);
        return start.equals(text) ? text : start + " (" + field.value().length + " bytes)";
    }

    /** Returns the first characters of a text, with dots if there are more. */
    public static String abbreviated(String text) {
        int end = text.offsetByCodePoints(
                0, Math.min(MAX_CHARACTERS, text.codePointCount(0, text.length())));
        return end == text.length() ? text : text.substring(0, end) + "...";
    }

    /** Replaces characters that could steer the terminal: keys may come from other machines. */
    private static String withoutControls(String text) {
        return CONTROL.matcher(text).replaceAll("?");
    }
}
