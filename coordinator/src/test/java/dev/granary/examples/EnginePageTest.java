package dev.granary.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.granary.coordinator.FakeBucket;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.TestNode;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.testing.SystemTool;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/** The programs that the page of own engines quotes: they run, and are quoted as they are. */
class EnginePageTest {
    private static final Path SOURCES = Path.of("src/test/java/dev/granary/examples");
    private static final Path PAGE = Path.of("..", "docs", "engine.md");
    private static final Pattern PROGRAM = Pattern.compile("(?s)```java\n(.*?)```\n");

    private final FakeBucket bucket = new FakeBucket();
    private final Path home;

    EnginePageTest(@TempDir Path home) throws InterruptedException {
        assumeTrue(SystemTool.run("cc", "--version"), "no C compiler: apt-get install gcc");
        this.home = home;
    }

    private GranaryConfig config(String machine, String enabled) throws Exception {
        return new TestNode(home.resolve(machine), bucket)
                .config()
                .bucket("s3://test")
                .flushLimit(TestNode.LONG)
                .enabled(enabled)
                .build();
    }

    private static CcEngine.Source square(CcEngine engine) {
        return new CcEngine.Source(
                engine.target(), "square", "double square(double x) { return x * x; }");
    }

    @Test
    @DisplayName("an engine of an own backend has every tier: compiled, from the bucket of another"
            + " machine, from the directory; it can be disabled by its name")
    void tiers() throws Exception {
        for (Map.Entry<String, PrimitiveSource> machine : List.of(
                Map.entry("one", PrimitiveSource.COMPILED),
                Map.entry("two", PrimitiveSource.BUCKET),
                Map.entry("two", PrimitiveSource.LOCAL))) {
            try (CcEngine engine = new CcEngine();
                    Granary granary = TestNode.over(config(machine.getKey(), "on"), bucket)) {
                var found = granary.lookup(engine, square(engine));
                assertEquals(machine.getValue(), found.source());
                assertEquals(9, found.primitive().call(3));
            }
        }
        try (CcEngine engine = new CcEngine();
                Granary granary = TestNode.over(config("two", "cc:off"), bucket)) {
            assertEquals(
                    PrimitiveSource.COMPILED,
                    granary.lookup(engine, square(engine)).source());
        }
    }

    @Test
    @DisplayName("prepare compiles the functions of an own engine, and restores them next time")
    void prepare() throws Exception {
        for (int found : List.of(0, 5)) {
            try (CcEngine engine = new CcEngine();
                    Granary granary = TestNode.over(config("one", "on"), bucket)) {
                List<CcEngine.Source> all = IntStream.range(0, 5)
                        .mapToObj(i -> new CcEngine.Source(
                                engine.target(),
                                "f" + i,
                                "double f" + i + "(double x) { return x + " + i + "; }"))
                        .toList();
                var end = granary.prepare(engine, all, _ -> {})
                        .get(TestNode.LONG.toSeconds(), TimeUnit.SECONDS);
                assertEquals(found, end.found());
                assertEquals(5 - found, end.compiled());
            }
        }
    }

    @Test
    @DisplayName("docs/engine.md quotes the engine and its test exactly")
    void quotes() throws IOException {
        assertEquals(
                List.of(
                        Files.readString(SOURCES.resolve("CcEngine.java")),
                        Files.readString(SOURCES.resolve("CcEngineTest.java"))),
                PROGRAM.matcher(Files.readString(PAGE))
                        .results()
                        .map(MatchResult::group)
                        .map(block -> PROGRAM.matcher(block).replaceAll("$1"))
                        .toList());
    }
}
