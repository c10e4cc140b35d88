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
    @DisplayName("each measure has figures of raw files and of the tier, and leaves nothing behind")
    void small() throws Exception {
        Path json = directory.resolve("figures.json");
        Path work = directory.resolve("work");
        int exitCode = run(
                "--entries",
                "20",
                "--many-entries",
                "200",
                "--rounds",
                "1",
                "--dir",
                work.toString(),
                "--json",
                json.toString());
        assertEquals(0, exitCode, err::toString);
        JsonArray sections = JsonParser.parseString(Files.readString(json))
                .getAsJsonObject()
                .getAsJsonArray("sections");
        assertEquals(6, sections.size());
        for (String section : List.of("get", "put", "replace", "evict", "scan", "start")) {
            for (String row : List.of("raw", "tier", "tier/raw")) {
                row(sections, section, row).entrySet().stream()
                        .filter(figure -> !figure.getKey().equals("name"))
                        .forEach(figure -> assertTrue(
                                figure.getValue().getAsDouble() > 0,
                                () -> section + " of " + row + ": " + figure));
            }
        }
        assertTrue(out.toString().lines().allMatch(line -> line.length() <= 100), out::toString);
        try (Stream<Path> left = Files.list(work)) {
            assertEquals(List.of(), left.toList());
        }
    }

    @Test
    @DisplayName(
            "an unknown measure or candidate, or too few entries: exit code 2, nothing written")
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
