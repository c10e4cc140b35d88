package dev.granary.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cli.Main;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Tests of the fast-start file: the command creates it, the JVM uses it, and an unsuitable one is
 * ignored.
 */
class FastStartTest {
    private static final int LIMIT_SECONDS = 600;

    @TempDir
    private Path directory;

    private record CommandResult(int exitCode, String output) {}

    private CommandResult java(List<String> flags, String... arguments)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of(
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=deny"));
        command.addAll(flags);
        command.addAll(List.of("-cp", jars(), Main.class.getName()));
        command.addAll(List.of(arguments));
        Path output = Files.createTempFile(directory, "output", "");
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        assertTrue(process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS));
        return new CommandResult(process.exitValue(), Files.readString(output));
    }

    /**
     * Returns the jars of the class path of this test: the JVM caches code only if the whole class
     * path is jars.
     */
    private static String jars() {
        List<String> jars = Stream.of(System.getProperty("java.class.path").split(":"))
                .filter(part -> part.endsWith(".jar"))
                .toList();
        Assumptions.assumeTrue(
                jars.stream().anyMatch(jar -> jar.contains("coordinator")),
                "the modules are not packaged: only Maven's verify makes jars");
        return String.join(":", jars);
    }

    @Test
    @DisplayName(
            "the command creates the file, the JVM uses it, and runs without it if it does not fit")
    void made() throws Exception {
        Path file = directory.resolve("fast-start.aot");
        CommandResult made = java(List.of(), "train", file.toString());
        assertEquals(0, made.exitCode, made::output);
        try (Stream<Path> left = Files.list(directory)) {
            assertEquals(
                    List.of(file),
                    left.filter(path -> path.toString().contains(".aot")).toList(),
                    "no partial file remains");
        }
        String none = directory.resolve("none").toString();
        // on: an error if it cannot be used
        CommandResult taken =
                java(List.of("-XX:AOTMode=on", "-XX:AOTCache=" + file), "ls", "--dir", none);
        assertEquals(0, taken.exitCode, taken::output);
        CommandResult other = java(
                List.of(
                        "-XX:AOTCache=" + file,
                        "-Xlog:disable",
                        "-XX:+UseParallelGC",
                        "-XX:-UseSerialGC"),
                "ls",
                "--dir",
                none);
        assertEquals(List.of(0, taken.output), List.of(other.exitCode, other.output));
    }

    @Test
    @DisplayName("if the file cannot be written, that is reported and no file remains")
    @Tag("exhaustive")
    void refused() throws Exception {
        CommandResult refused = java(
                List.of(),
                "train",
                directory.resolve("missing").resolve("file.aot").toString());
        assertEquals(1, refused.exitCode, refused::output);
        assertTrue(
                refused.output.contains("granary: the fast-start file cannot be created: "),
                refused::output);
    }
}
