package dev.granary.plans.picture;

import java.util.List;

/**
 * Writer of a picture in SVG, in pixels. Colours follow the colour scheme of the reader, light or
 * dark. Colours of caches have numbers, which repeat.
 */
final class SvgWriter {
    private static final List<String> LIGHT =
            List.of("#0969da", "#bc4c00", "#1a7f37", "#8250df", "#bf3989", "#6e5800");
    private static final List<String> DARK =
            List.of("#58a6ff", "#f0883e", "#3fb950", "#bc8cff", "#f778ba", "#d4a72c");

    private static final int CHARACTER = 8;

    private final StringBuilder text = new StringBuilder();
    private int right;

    /** Returns the width of a line of text. */
    static int width(String words) {
        return words.length() * CHARACTER;
    }

    /** Writes a line of text, whose base is at {@code y}; a negative colour is that of arrays. */
    void text(int x, int y, String words, int colour) {
        right = Math.max(right, x + width(words));
        String kind = colour < 0 ? "" : " class=\"c" + colour % LIGHT.size() + "\"";
        text.append("<text x=\"%s\" y=\"%s\"%s>%s</text>\n".formatted(x, y, kind, escaped(words)));
    }

    /** Writes a filled or a dashed rectangle in the colour of a cache. */
    void block(int x, int y, int width, int height, int colour, boolean isFilled) {
        String kind = (isFilled ? "block c" : "outline c") + colour % LIGHT.size();
        rectangle(kind, x, y, width, height);
    }

    /** Writes a rectangle of a class of the style sheet. */
    void rectangle(String kind, int x, int y, int width, int height) {
        text.append("<rect class=\"%s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>\n"
                .formatted(kind, x, y, width, height));
    }

    /** Returns the right end of the longest line of text. */
    int right() {
        return right;
    }

    /** Returns the picture. */
    String picture(int width, int height, String title) {
        return """
                <svg xmlns="http://www.w3.org/2000/svg" width="%1$s" height="%2$s" \
                viewBox="0 0 %1$s %2$s" role="img">
                <title>%3$s</title>
                <style>
                %4$s@media (prefers-color-scheme: dark) {
                %5$s}
                </style>
                <rect class="paper" x="0" y="0" width="%1$s" height="%2$s"/>
                %6$s</svg>
                """.formatted(
                width, height, escaped(title), """
                        text { font: 13px monospace; white-space: pre; fill: #1f2328 }
                        .paper { fill: #ffffff }
                        .array { fill: #f3f4f6; stroke: #57606a }
                        .block { fill-opacity: 0.55 }
                        .outline { fill-opacity: 0; stroke-dasharray: 4 3 }
                        """ + colours(LIGHT), """
                        text { fill: #e6edf3 }
                        .paper { fill: #0d1117 }
                        .array { fill: #161b22; stroke: #8b949e }
                        """ + colours(DARK), text);
    }

    private static String colours(List<String> values) {
        StringBuilder rules = new StringBuilder();
        for (int i = 0; i < values.size(); i++) {
            rules.append("text.c%1$s { fill: %2$s } rect.c%1$s { fill: %2$s; stroke: %2$s }\n"
                    .formatted(i, values.get(i)));
        }
        return rules.toString();
    }

    private static String escaped(String words) {
        return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    }
}
