package dev.granary.cli.output;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import dev.granary.cache.Sha256;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Tests for {@link Report}. */
class ReportTest {
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @SafeVarargs
    @SuppressWarnings("varargs") // the rows are only read
    private static ReportTable<List<Object>> table(
            Report report, String name, List<String> headings, List<Object>... rows) {
        ReportTable<List<Object>> table = report.table(name, List.of(rows));
        for (int i = 0; i < headings.size(); i++) {
            int column = i;
            table.column(headings.get(i), row -> row.get(column));
        }
        return table;
    }

    private static Sha256 hash(int bytes) {
        return Sha256.of(new byte[bytes]);
    }

    private void report(boolean isJson) {
        Report report = new Report(new PrintWriter(out), new PrintWriter(err), isJson);
        report.field("directory", "/var/cache");
        report.count("leftOut", 0, "entry", "left out").count("gone", 2, "entry", "gone");
        List<String> headings =
                List.of("=target", "id", "bytes", "<last used", "time:millis", "-damage");
        table(
                        report,
                        "entries",
                        headings,
                        List.of("opencl/a", hash(0), Report.bytes(2048), "now", time(), ""),
                        List.of("opencl/b", hash(1), Report.bytes(1), "now", time(), ""),
                        List.of("opencl/b", hash(2), Report.bytes(1), "now", time(), ""))
                .limit(2);
        report.data("totals", Map.of("local hits", 3L));
        report.part("targets").data("target", "x").line("for x");
        report.field("kernels", List.of("a", "b")).data("none", Optional.empty());
        report.problem("a bucket\u001b is gone");
        report.print();
    }

    private static Duration time() {
        return Duration.ofMillis(1500);
    }

    @Test
    @DisplayName("prints fields, tables and lines as text, and problems on standard error")
    void text() {
        report(false);
        assertEquals("""
                directory  /var/cache
                2 entries gone
                opencl/a
                id                  bytes  last used      time
                e3b0c44298fc1c14  2.0 KiB  now        1,500 ms

                opencl/b
                id                bytes  last used      time
                6e340b9cffb37a98    1 B  now        1,500 ms

                ... and 1 more; --json lists all
                for x
                kernels    a, b
                """.replace("\n", System.lineSeparator()), out.toString());
        assertEquals("granary: a bucket? is gone" + System.lineSeparator(), err.toString());
    }

    @Test
    @DisplayName("prints the same as Markdown, in which no text is markup")
    void markdown() {
        Report report = new Report(new PrintWriter(out), new PrintWriter(err), false);
        report.markdown();
        report.field("place", "s3://a_b/*c*").line("").line("a [link](x) <b>");
        List<String> headings = List.of("name", "<kind", "count");
        table(report, "", headings, List.of("a|b`c`", "x", 1), List.of("c", "x", 1))
                .limit(1);
        report.print();
        assertEquals("""
                * place: s3\\://a\\_b/\\*c\\*

                a \\[link\\](x) \\<b\\>

                | name | kind | count |
                |---|---|--:|
                | a\\|b\\`c\\` | x | 1 |

                ... and 1 more; --json lists all
                """.replace("\n", System.lineSeparator()), out.toString());
    }

    @Test
    @DisplayName("prints the same as one JSON object with names from labels and headings")
    void json() {
        report(true);
        JsonObject json = JsonParser.parseString(out.toString()).getAsJsonObject();
        assertEquals("/var/cache", json.get("directory").getAsString());
        assertEquals(0, json.get("leftOut").getAsInt());
        assertEquals(3, json.getAsJsonArray("entries").size());
        JsonObject entry = json.getAsJsonArray("entries").get(0).getAsJsonObject();
        assertEquals(
                List.of("target", "id", "bytes", "lastUsed", "millis", "damage"),
                List.copyOf(entry.keySet()));
        assertEquals(64, entry.get("id").getAsString().length());
        assertEquals(2048, entry.get("bytes").getAsLong());
        assertEquals(1500, entry.get("millis").getAsDouble());
        assertEquals(3, json.getAsJsonObject("totals").get("local hits").getAsInt());
        assertEquals(
                "x",
                json.getAsJsonArray("targets")
                        .get(0)
                        .getAsJsonObject()
                        .get("target")
                        .getAsString());
        assertEquals(2, json.getAsJsonArray("kernels").size());
        assertEquals(true, json.get("none").isJsonNull());
        assertEquals(1, json.getAsJsonArray("problems").size());
    }

    @Test
    @DisplayName("Control characters reach the terminal neither from labels nor from texts")
    void controls() {
        Report report = new Report(new PrintWriter(out), new PrintWriter(err), false);
        report.field("a\u001b[2J\nb", "one\u001btwo\u009b").line("x\u001b\ny");
        report.error("log\u001b[31m\n\tline");
        table(report, "t", List.of("=g", "h"), List.of("\u001bgroup", "\u001bcell"));
        report.print();
        assertEquals("log?[31m\n    line\n".replace("\n", System.lineSeparator()), err.toString());
        assertEquals("""
                a?[2J?b    one?two?
                x??y
                ?group
                h
                ?cell

                """.replace("\n", System.lineSeparator()), out.toString());
    }

    @Test
    @DisplayName("A long text is wrapped behind its label; a word longer than a line is broken")
    void wrapped() {
        Report report = new Report(new PrintWriter(out), new PrintWriter(err), false);
        report.field("label", "word ".repeat(20) + "p".repeat(90));
        assertEquals(
                "label      " + "word ".repeat(13) + "word" + System.lineSeparator()
                        + " ".repeat(11) + "word ".repeat(5) + "word" + System.lineSeparator()
                        + " ".repeat(11) + "p".repeat(69) + System.lineSeparator()
                        + " ".repeat(11) + "p".repeat(21) + System.lineSeparator(),
                out.toString());
    }

    @Test
    @DisplayName("a table that is wider than 80 columns is truncated in its first column only,"
            + " or in that with ~")
    void table() {
        Report report = new Report(new PrintWriter(out), new PrintWriter(err), false);
        table(
                report,
                "kernels",
                List.of("kernel", "size", "<id"),
                List.of("k".repeat(200), "1 B", "0123456789abcdef"),
                List.of("short", "2 B", "0"));
        table(report, "causes", List.of("failed", "~cause"), List.of("1", "c".repeat(200)));
        report.print();
        List<String> lines = out.toString().lines().toList();
        assertTrue(lines.stream().allMatch(line -> line.length() <= 80), lines::toString);
        assertTrue(
                lines.get(1).startsWith("kkkk")
                        && lines.get(1).endsWith("...   1 B  0123456789abcdef"),
                lines::toString);
        assertTrue(lines.get(4).startsWith("1       ccc"), lines::toString);
    }
}
