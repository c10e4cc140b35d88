package dev.granary.cli.key;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Id;

import java.io.PrintWriter;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.function.BiConsumer;
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

    /**
     * Passes name and short value of each field after those of the target to {@code receiver}, up
     * to a limit. Returns the number of fields that were left out.
     */
    public static int forEachField(Id id, BiConsumer<String, String> receiver) {
        List<Id.Field> fields = id.fields().subList(TARGET_FIELDS, id.fields().size());
        fields.stream()
                .limit(MAX_FIELDS)
                .forEach(field -> receiver.accept("  " + field.name(), shortened(field)));
        return Math.max(0, fields.size() - MAX_FIELDS);
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
