package dev.granary.coordinator.toml;

import java.util.List;
import java.util.stream.Collectors;

/** Writer of TOML values, each in one line. */
public final class TomlText {
    private TomlText() {}

    /** Returns {@code text} as a basic string, with quotes. */
    public static String string(String text) {
        StringBuilder quoted = new StringBuilder(text.length() + 2).append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '"' -> quoted.append("\\\"");
                case '\\' -> quoted.append("\\\\");
                case '\n' -> quoted.append("\\n");
                case '\t' -> quoted.append("\\t");
                default -> {
                    // the second and third are line ends for some editors
                    if (Character.isISOControl(c) || c == '\u2028' || c == '\u2029') {
                        quoted.append(String.format("\\u%04X", (int) c));
                    } else {
                        quoted.append(c);
                    }
                }
            }
        }
        return quoted.append('"').toString();
    }

    public static String strings(List<String> texts) {
        return texts.stream().map(TomlText::string).collect(Collectors.joining(", ", "[", "]"));
    }
}
