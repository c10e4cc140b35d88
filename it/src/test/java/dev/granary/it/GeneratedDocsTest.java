package dev.granary.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.coordinator.statistics.Counter;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Compares the generated blocks of pages with the code that they show. They stand between two
 * comments; {@code -Dgranary.docs.write=true} writes them.
 */
class GeneratedDocsTest {
    private static final Path DOCS = Path.of("..", "docs");

    @TempDir
    private Path directory = Path.of("");

    @Test
    @DisplayName("commands.md has the help of the command")
    void commands() throws Exception {
        List<String> block = new ArrayList<>(List.of("```"));
        GranaryProcess.run(Map.of("GRANARY_DIR", directory.toString()), "--help")
                .out()
                .lines()
                .forEach(block::add);
        block.add("```");
        assertBlock("commands.md", "commands", block);
    }

    @Test
    @DisplayName("operations.md has each counter with its meaning")
    void counters() throws Exception {
        List<String> block = new ArrayList<>(List.of("| counter | meaning |", "|---|---|"));
        for (Counter counter : Counter.values()) {
            block.add("| `" + counter.label() + "` | " + counter.description() + " |");
        }
        assertBlock("operations.md", "counters", block);
    }

    private static void assertBlock(String page, String name, List<String> expected)
            throws Exception {
        Path file = DOCS.resolve(page);
        List<String> lines = new ArrayList<>(Files.readAllLines(file));
        int start = lines.indexOf("<!-- generated: " + name + " -->");
        assertTrue(start >= 0, () -> page + " has no block " + name);
        int end = start + 1 + lines.subList(start + 1, lines.size()).indexOf("<!-- end -->");
        List<String> block = lines.subList(start + 1, end);
        if (Boolean.getBoolean("granary.docs.write")) {
            block.clear();
            block.addAll(expected);
            Files.write(file, lines);
        } else {
            assertEquals(
                    String.join("\n", expected),
                    String.join("\n", block),
                    page + ": -Dgranary.docs.write=true writes the block " + name);
        }
    }
}
