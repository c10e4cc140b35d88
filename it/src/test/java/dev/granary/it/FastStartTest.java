package dev.granary.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cli.Main;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The file that lets the command start fast: made by the command itself, taken by the JVM, and no harm where it does not fit. */
class FastStartTest {
    private static final int LIMIT_SECONDS = 600;

    @TempDir
    private Path directory;

    private record Ended(int exitCode, String said) {}

    private Ended java(List<String> flags, String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-XX:+UseSerialGC", "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=deny"));
        command.addAll(flags);
        command.addAll(List.of("-cp", jars(), Main.class.getName()));
        command.addAll(List.of(arguments));
        Path said = Files.createTempFile(directory, "said", "");
        Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(said.toFile()).start();
        assertTrue(process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS));
        return new Ended(process.exitValue(), Files.readString(said));
    }

    /** The class path of this test, of which the JVM keeps code only where all of it is jars. */
    private static String jars() {
        List<String> jars = Stream.of(System.getProperty("java.class.path").split(":")).filter(part -> part.endsWith(".jar")).toList();
        Assumptions.assumeTrue(jars.stream().anyMatch(jar -> jar.contains("coordinator")), "the modules are not packaged: only Maven's verify makes jars");
        return String.join(":", jars);
    }

    @Test
    @DisplayName("the command makes the file, the JVM takes it, and another class path goes on without it")
    void made() throws Exception {
        Path file = directory.resolve("fast-start.aot");
        Ended made = java(List.of(), "train", file.toString());
        assertEquals(0, made.exitCode, made::said);
        try (Stream<Path> left = Files.list(directory)) {
            assertEquals(List.of(file), left.filter(path -> path.toString().contains(".aot")).toList(), "nothing unfinished is left");
        }
        String none = directory.resolve("none").toString();
        Ended taken = java(List.of("-XX:AOTMode=on", "-XX:AOTCache=" + file), "ls", "--dir", none); // on: an error where it cannot be used
        assertEquals(0, taken.exitCode, taken::said);
        Ended other = java(List.of("-XX:AOTCache=" + file, "-Xlog:disable", "-XX:+UseParallelGC", "-XX:-UseSerialGC"), "ls", "--dir", none);
        assertEquals(List.of(0, taken.said), List.of(other.exitCode, other.said));
    }

    @Test
    @DisplayName("where the file cannot be written, that is told and nothing is left")
    void refused() throws Exception {
        Ended refused = java(List.of(), "train", directory.resolve("missing").resolve("file.aot").toString());
        assertEquals(1, refused.exitCode, refused::said);
        assertTrue(refused.said.contains("granary: no fast start: "), refused::said);
    }
}
