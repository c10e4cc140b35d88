package dev.granary.coordinator.toml;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;

/** Dictionary for fuzzing TOML files, and checks of error messages. */
public final class TomlFuzz {
    /** Syntax, dates, numbers and keys. */
    public static final List<String> WORDS = List.of(
            "[",
            "]",
            "[[",
            "]]",
            "{",
            "}",
            "\"",
            "'",
            "\"\"\"",
            "'''",
            "\\u",
            "\\U0010ffff",
            "\\",
            "=",
            ".",
            ",",
            "#",
            "\n",
            "1979-05-27T07:32:00-1'",
            "1979-05-27",
            "07:32:00",
            "inf",
            "nan",
            "0x",
            "1e400",
            "-",
            "+",
            "99999999999999999999",
            "true",
            "//u:p@",
            "[[[[[[[[",
            "kernel",
            "name",
            "options",
            "geometry",
            "global");

    private TomlFuzz() {}

    /** Checks that a message is short and contains no credentials. */
    public static void checkMessage(Exception e) {
        String message = String.valueOf(e.getMessage());
        assertFalse(message.contains("//u:p@"), message);
        assertTrue(message.length() < 4000, message);
    }
}
