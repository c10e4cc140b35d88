package dev.granary.cli.output;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Objects;

/**
 * A page of figures, charts and tables in one HTML file, which needs no other. All of its texts may
 * come from other machines; none is markup.
 *
 * @param figures label and text of each
 */
public record HtmlPage(
        String title,
        String subtitle,
        List<List<String>> figures,
        List<Chart> charts,
        List<Table> tables) {
    private static final String CHARTS =
            "META-INF/resources/webjars/chart.js/4.4.9/dist/chart.umd.js";

    /** JSON without the characters that have a meaning in HTML. */
    private static final Gson JSON = new GsonBuilder().serializeNulls().create();

    /**
     * A chart.
     *
     * @param kind {@code line} for rates, whose axis ends at 100 %, or {@code bar}
     * @param values the values; null where there is none
     * @param texts the values as text
     */
    public record Chart(
            String title,
            String kind,
            List<String> labels,
            List<@Nullable Double> values,
            List<String> texts) {}

    /** A table of texts. */
    public record Table(String title, List<String> headings, List<List<String>> rows) {}

    public String html() throws IOException {
        ClassLoader loader = Objects.requireNonNull(HtmlPage.class.getClassLoader());
        // the map of the sources is not in the page
        String charting = text(loader.getResourceAsStream(CHARTS))
                .replaceAll("(?m)^//# sourceMapping.*$", "");
        return text(HtmlPage.class.getResourceAsStream("report.html"))
                .replace("/*CHARTS*/", charting)
                .replace("/*DATA*/", JSON.toJson(this));
    }

    /** Returns the text of a resource of the command. */
    public static String text(@Nullable InputStream resource) throws IOException {
        try (InputStream in = Objects.requireNonNull(resource, "a resource of the command")) {
            return new String(in.readAllBytes(), UTF_8);
        }
    }
}
