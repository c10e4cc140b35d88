package dev.granary.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cli.Main;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * Tests of the fast-start file: the command creates it, the JVM uses it, and an unsuitable one is
 * ignored.
 */
class FastStartTest {
    @TempDir
    private Path directory;

    /**
     * Runs the command with only the jars of the class path of this test: the JVM caches code only
     * if the whole class path is jars.
     */
    private static ChildJvm.Result java(List<String> flags, String... arguments)
            throws IOException, InterruptedException {
        Assumptions.assumeTrue(
                ChildJvm.classPath().stream().anyMatch(FastStartTest::isJarOfCommand),
                "the modules are not packaged: only Maven's verify makes jars");
        return ChildJvm.of(Main.class)
                .flags("-XX:+UseSerialGC")
                .flags(flags.toArray(String[]::new))
                .classPath(FastStartTest::isJar)
                .mergeErrors()
                .run(arguments);
    }

    private static boolean isJar(Path part) {
        return part.toString().endsWith(".jar");
    }

    private static boolean isJarOfCommand(Path part) {
        return isJar(part) && part.toString().contains("/granary-cli-");
    }

    @Test
    @Tag("exhaustive")
    @DisplayName(
            "the command creates the file, the JVM uses it, and runs without it if it does not fit")
    void made() throws Exception {
        Path file = directory.resolve("fast-start.aot");
        ChildJvm.Result made = java(List.of(), "train", file.toString());
        assertEquals(0, made.exitCode(), made::toString);
        try (Stream<Path> left = Files.list(directory)) {
            assertEquals(
                    List.of(file),
                    left.filter(path -> path.toString().contains(".aot")).toList(),
                    "no partial file remains");
        }
        String none = directory.resolve("none").toString();
        // on: an error if it cannot be used
        ChildJvm.Result taken =
                java(List.of("-XX:AOTMode=on", "-XX:AOTCache=" + file), "ls", "--dir", none);
        assertEquals(0, taken.exitCode(), taken::toString);
        ChildJvm.Result other = java(
                List.of(
                        "-XX:AOTCache=" + file,
                        "-Xlog:disable",
                        "-XX:+UseParallelGC",
                        "-XX:-UseSerialGC"),
                "ls",
                "--dir",
                none);
        assertEquals(List.of(0, taken.out()), List.of(other.exitCode(), other.out()));
    }

    @Test
    @DisplayName("if the file cannot be written, that is reported and no file remains")
    @Tag("exhaustive")
    void refused() throws Exception {
        ChildJvm.Result refused = java(
                List.of(),
                "train",
                directory.resolve("missing").resolve("file.aot").toString());
        assertEquals(1, refused.exitCode(), refused::toString);
        assertTrue(
                refused.out().contains("granary: the fast-start file cannot be created: "),
                refused::toString);
    }
}
