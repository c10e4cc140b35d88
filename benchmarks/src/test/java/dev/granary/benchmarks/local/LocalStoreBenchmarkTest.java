package dev.granary.benchmarks.local;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Tests that a small run has figures for each candidate, of any value, and leaves nothing behind.
 */
class LocalStoreBenchmarkTest {
    private static final int USAGE = 2;

    @TempDir
    private Path directory = Path.of("");

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @Test
    @DisplayName("O10 get, put and evict of three candidates: ratios in the JSON, goals on the"
            + " terminal, nothing left behind")
    void small() throws Exception {
        Path json = directory.resolve("figures.json");
        Path work = directory.resolve("work");
        int exitCode = run(
                "--entries",
                "50",
                "--rounds",
                "1",
                "--only",
                "get,put,evict",
                "--candidates",
                "raw,tier,rfc",
                "--dir",
                work.toString(),
                "--json",
                json.toString());
        assertEquals(0, exitCode, err::toString);
        JsonArray sections = JsonParser.parseString(Files.readString(json))
                .getAsJsonObject()
                .getAsJsonArray("sections");
        assertEquals(3, sections.size());
        for (Map.Entry<String, String> expected :
                Map.of("get", "allRatio", "put", "ratio", "evict", "ratio").entrySet()) {
            for (String candidate : List.of("raw", "tier", "rfc")) {
                double ratio = row(sections, expected.getKey(), candidate)
                        .get(expected.getValue())
                        .getAsDouble();
                assertTrue(ratio > 0, () -> expected + " of " + candidate + ": " + ratio);
            }
            assertEquals(
                    1,
                    row(sections, expected.getKey(), "raw")
                            .get(expected.getValue())
                            .getAsDouble(),
                    expected.getKey());
        }
        assertTrue(out.toString().contains("goal: get / raw"), out::toString);
        assertTrue(out.toString().lines().allMatch(line -> line.length() <= 100), out::toString);
        try (Stream<Path> left = Files.list(work)) {
            assertEquals(List.of(), left.toList());
        }
    }

    @Test
    @DisplayName(
            "O10 an unknown measure or candidate, or too few entries: usage, exit code 2, nothing"
                    + " written")
    void wrongUsage() throws Exception {
        Path work = directory.resolve("work");
        assertEquals(USAGE, run("--only", "gets", "--dir", work.toString()));
        assertTrue(err.toString().contains("but was 'gets'"), err::toString);
        assertEquals(USAGE, run("--candidates", "raw,leveldb", "--dir", work.toString()));
        assertEquals(USAGE, run("--entries", "1", "--dir", work.toString()));
        assertTrue(Files.notExists(work));
    }

    private int run(String... arguments) {
        return LocalStoreBenchmark.commandLine()
                .setOut(new PrintWriter(out))
                .setErr(new PrintWriter(err))
                .execute(arguments);
    }

    private static JsonObject row(JsonArray sections, String section, String candidate) {
        JsonObject found = named(sections, section);
        return named(found.getAsJsonArray("rows"), candidate);
    }

    private static JsonObject named(JsonArray objects, String name) {
        for (JsonElement object : objects) {
            if (object.getAsJsonObject().get("name").getAsString().equals(name)) {
                return object.getAsJsonObject();
            }
        }
        throw new AssertionError("there is no " + name + " in " + objects);
    }
}
