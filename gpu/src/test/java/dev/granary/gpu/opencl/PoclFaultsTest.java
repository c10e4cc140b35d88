package dev.granary.gpu.opencl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.gpu.DriverProcess;
import dev.granary.testing.TestRuns;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.Map;

/**
 * Tests of faults of PoCL from which the engine protects callers, each reproduced in a process of
 * its own.
 */
@NeedsPocl
class PoclFaultsTest {
    @TempDir
    Path directory;

    @Test
    @DisplayName(
            "A kernel with a required work-group size runs while its binaries are taken: PoCL up"
                    + " to 5 would abort the process")
    void launchWhileTaken() throws Exception {
        String output = DriverProcess.of(LaunchWhileTaken.class, directory)
                .variables(Map.of("POCL_KERNEL_CACHE", "1"))
                .run("3")
                .output();
        assertEquals("true", DriverProcess.value(output, "taken2"), output);
        assertTrue(Integer.parseInt(DriverProcess.value(output, "launches")) > 0, output);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("The application launches such a kernel itself, while its binaries are asked for")
    void ownLaunchWhileTaken() throws Exception {
        String output = DriverProcess.of(LaunchWhileTaken.class, directory)
                .variables(Map.of("POCL_KERNEL_CACHE", "1"))
                .run("5", "own")
                .output();
        assertEquals("true", DriverProcess.value(output, "taken4"), output);
    }

    @Test
    @DisplayName(
            "No compile fails while the JVM gets signals for null pointers, at which the compiler"
                    + " removes its files")
    void compileAmidSignals() throws Exception {
        String programs = String.valueOf(TestRuns.count(5));
        String output = DriverProcess.of(CompileAmidSignals.class, directory)
                .run(programs, "20")
                .output();
        assertEquals(programs, DriverProcess.value(output, "compiled"), output);
        assertTrue(Integer.parseInt(DriverProcess.value(output, "nulls")) > 0, output);
    }
}
