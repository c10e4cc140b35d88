package dev.granary.it.installed;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.gpu.levelzero.TestDriver;

import org.junit.jupiter.api.Assumptions;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The program of {@code it/level-zero}, which has no binding of OpenCL, on the driver of the tests.
 */
final class LevelZeroProgram {
    private static final String MISSING = "the binding of OpenCL is missing; add"
            + " dev.granary:granary-opencl-lwjgl to the program";

    private final ExampleProjects projects;
    private final Path directory;

    private LevelZeroProgram(ExampleProjects projects, Path directory) {
        this.projects = projects;
        this.directory = directory;
    }

    /** Compiles the driver into a new directory. Without a C compiler the test is skipped. */
    static LevelZeroProgram withDriver(ExampleProjects projects, Path directory)
            throws IOException {
        Optional<String> reason = TestDriver.compile(Files.createDirectory(directory));
        Assumptions.assumeTrue(reason.isEmpty(), () -> reason.orElse(""));
        return new LevelZeroProgram(projects, directory);
    }

    /** Runs the program with {@code java -jar}, and compares all of its output. */
    void assertRunsOnClassPath(String source) throws Exception {
        assertRuns(
                source,
                MISSING,
                "-jar",
                projects.jar(ExampleProjects.LEVEL_ZERO).toString());
    }

    /** Runs the program as a named module with these flags, and compares all of its output. */
    void assertRunsOnModulePath(String source, String... flags) throws Exception {
        String[] modules = projects.onModulePath(
                ExampleProjects.LEVEL_ZERO, "com.example.zero.LevelZeroAlone");
        assertRuns(
                source,
                MISSING + ", and require dev.granary.opencl.lwjgl in its module-info",
                Stream.of(flags, modules).flatMap(Arrays::stream).toArray(String[]::new));
    }

    private void assertRuns(String source, String missing, String... command) throws Exception {
        InstalledProgram.Result result = projects.run(
                directory.getFileName() + "-entries",
                Map.of(
                        TestDriver.ALTERNATIVE_DRIVERS,
                        directory.resolve("driver.so").toString()),
                command);
        Assumptions.assumeFalse(
                result.out().startsWith("missing=the Level Zero loader"),
                () -> result.out().strip());
        assertEquals(
                List.of(
                        "probe=Missing[cause=" + missing + "]",
                        "devices=" + missing,
                        "wrap=" + missing,
                        "source=" + source),
                result.out().lines().toList(),
                result::toString);
        assertEquals(0, result.exitCode(), result::toString);
    }
}
