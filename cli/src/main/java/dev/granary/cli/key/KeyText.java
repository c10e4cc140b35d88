package dev.granary.cli.key;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Id;

import java.io.PrintWriter;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Pattern;

/** Text form of the fields of a key. */
public final class KeyText {
    private static final Pattern CONTROL = Pattern.compile("[\\p{Cc}&&[^\t]]");

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

    /** Replaces characters that could steer the terminal: keys may come from other machines. */
    private static String withoutControls(String text) {
        return CONTROL.matcher(text).replaceAll("?");
    }
}
