package dev.granary.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A launcher of main classes of the tests in their own JVM. */
public final class ChildJvm {
    private ChildJvm() {}

    /**
     * Runs {@code main} in {@code directory} on the test class path and returns the lines that it
     * prints.
     */
    public static List<String> run(Class<?> main, Path directory, String... flags)
            throws IOException, InterruptedException {
        return runWithout(List.of(), main, directory, flags);
    }

    /** Like {@link #run}, without the jars whose names start with one of {@code libraries}. */
    public static List<String> runWithout(
            List<String> libraries, Class<?> main, Path directory, String... flags)
            throws IOException, InterruptedException {
        String testPath = System.getProperty(
                "surefire.test.class.path", System.getProperty("java.class.path"));
        String path = Stream.of(testPath.split(File.pathSeparator, -1))
                .filter(part -> libraries.stream()
                        .noneMatch(library ->
                                String.valueOf(Path.of(part).getFileName()).startsWith(library)))
                .map(part -> Path.of(part).toAbsolutePath().toString())
                .collect(Collectors.joining(File.pathSeparator));
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                path,
                "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=deny"));
        command.addAll(List.of(flags));
        command.add(main.getName());
        Path output = directory.resolve("output.txt");
        Process child = new ProcessBuilder(command)
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        assertTrue(child.waitFor(5, TimeUnit.MINUTES), "the child JVM has not ended");
        List<String> lines = Files.readAllLines(output, ISO_8859_1);
        assertEquals(0, child.exitValue(), () -> String.join("\n", lines));
        return lines;
    }
}
