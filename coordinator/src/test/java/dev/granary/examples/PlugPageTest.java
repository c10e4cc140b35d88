package dev.granary.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.PersistentCache;
import dev.granary.coordinator.FakeBucket;
import dev.granary.coordinator.FakeDescriptor;
import dev.granary.coordinator.FakeEngine;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.TestNode;
import dev.granary.coordinator.config.GranaryConfig;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/** The programs that the page of plugged caches quotes: they run, and are quoted as they are. */
class PlugPageTest {
    private static final Path SOURCES = Path.of("src/test/java/dev/granary/examples");
    private static final Path PAGE = Path.of("..", "docs", "plug.md");
    private static final Pattern PROGRAM = Pattern.compile("(?s)```java\n(.*?)```\n");
    private static final int MAX_LINES = 100;

    @Test
    @DisplayName("the example is a layer of two machines")
    void twoMachines(@TempDir Path home) throws Exception {
        Path rackDirectory = home.resolve("rack");
        FakeDescriptor descriptor = FakeDescriptor.of("a");
        FakeEngine engine = new FakeEngine("one");
        for (String machine : List.of("one", "two")) {
            GranaryConfig config = new TestNode(home.resolve(machine), new FakeBucket())
                    .config()
                    .flushLimit(TestNode.LONG)
                    .bucketWait(TestNode.LONG)
                    .build();
            // quoted
            try (PersistentCache rack = new DirectoryCache(rackDirectory);
                    Granary granary = Granary.builder()
                            .layer("rack", rack) // requested before the configured buckets
                            .config(config)
                            .open()) {
                granary.primitive(engine, descriptor);
            }
        }
        assertEquals(1, engine.compiles.get());
    }

    @Test
    @DisplayName("docs/plug.md quotes the examples exactly; the cache has under 100 lines")
    void quotes() throws IOException {
        String cache = Files.readString(SOURCES.resolve("DirectoryCache.java"));
        List<String> quoted = PROGRAM.matcher(Files.readString(PAGE))
                .results()
                .map(MatchResult::group)
                .map(block -> PROGRAM.matcher(block).replaceAll("$1"))
                .toList();
        assertEquals(
                List.of(
                        use(Files.readString(SOURCES.resolve("PlugPageTest.java"))),
                        cache,
                        Files.readString(SOURCES.resolve("DirectoryCacheTest.java"))),
                quoted);
        assertTrue(cache.lines().count() < MAX_LINES);
    }

    /** Returns the quoted statement of a source, without its indentation. */
    private static String use(String source) {
        int start = source.indexOf("            // quoted\n") + "            // quoted\n".length();
        String end = "\n            }";
        String statement = source.substring(start, source.indexOf(end, start) + end.length());
        return statement.stripIndent() + "\n";
    }
}
