package dev.granary.benchmarks.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Tests that a small run of the benchmark has a figure for each candidate, of any value. */
class MemoryBenchmarkTest {
    private static final int USAGE = 2;

    @TempDir
    private Path directory = Path.of("");

    @Test
    @DisplayName("A tiny run has figures of each candidate in the JSON, and goals on the terminal")
    void small() throws Exception {
        Path json = directory.resolve("figures.json");
        String text = inOwnJvm("--iterations", "1", "--millis", "10", "--json", json.toString());
        JsonArray sections = JsonParser.parseString(Files.readString(json))
                .getAsJsonObject()
                .getAsJsonArray("sections");
        assertEquals(1, sections.size(), text);
        for (String candidate :
                List.of("another map", "PrimitiveCache", "Granary", "with an event")) {
            JsonObject row = row(sections, "hit", candidate);
            for (String column : List.of("oneNanos", "oneRatio", "twoNanos", "twoRatio")) {
                assertTrue(
                        row.get(column).getAsDouble() > 0,
                        () -> candidate + " " + column + ": " + row);
            }
            assertTrue(row.get("bytes").getAsDouble() >= 0, row::toString);
        }
        assertTrue(text.contains("goal: PrimitiveCache / map, threads: 2"), text);
        assertTrue(text.lines().allMatch(line -> line.length() <= 110), text);
    }

    @Test
    @DisplayName("Too few or too short iterations are wrong usage, exit code 2")
    void wrongUsage() {
        assertEquals(USAGE, run("--iterations", "0"));
        assertEquals(USAGE, run("--millis", "9"));
    }

    private static int run(String... arguments) {
        return MemoryBenchmark.commandLine()
                .setOut(new PrintWriter(new StringWriter()))
                .setErr(new PrintWriter(new StringWriter()))
                .execute(arguments);
    }

    /** Returns the output of the benchmark in a JVM with the flags that JMH needs. */
    private static String inOwnJvm(String... arguments) throws Exception {
        return ChildJvm.of(MemoryBenchmark.class)
                .flags("--sun-misc-unsafe-memory-access=allow")
                .mergeErrors()
                .run(arguments)
                .output();
    }

    private static JsonObject row(JsonArray sections, String section, String row) {
        return named(named(sections, section).getAsJsonArray("rows"), row);
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
