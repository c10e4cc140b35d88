package dev.granary.gpu.opencl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.gpu.DriverProcess;
import dev.granary.gpu.Geometry;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;

/**
 * Tests of the coverage of a binary, in a process that has never compiled. PoCL's messages show
 * whether its compiler ran.
 */
@NeedsPocl
class RestoreInNewProcessTest {
    /** PoCL's debug message after it compiled a kernel for a launch. */
    private static final String COMPILER_RAN = "WG function: ";

    private static final String CACHED = "Using a cached WG function: ";

    @TempDir
    private static Path directory = Path.of("");

    private static String taken = "";

    @BeforeAll
    static void takeOnce() throws Exception {
        taken = take("none", "announced-16", "announced-64", "launched-64");
    }

    private static String take(String... modes) throws Exception {
        return DriverProcess.of(TakeProgram.class, directory).run(modes).output();
    }

    private String restore(String file, String... announcedAndSizes) throws Exception {
        Path own = Files.createTempDirectory(directory, "restore");
        String[] arguments = new String[announcedAndSizes.length + 1];
        arguments[0] = directory.resolve(file).toString();
        System.arraycopy(announcedAndSizes, 0, arguments, 1, announcedAndSizes.length);
        String output = DriverProcess.of(RestoreProgram.class, own)
                .variables(Map.of("POCL_DEBUG", "all"))
                .run(arguments)
                .output();
        assertEquals("RESTORED", DriverProcess.value(output, "origin"));
        System.out.println(file + ": restore " + DriverProcess.value(output, "restoreMicros")
                + " us, launch "
                + DriverProcess.value(output, "launchMicros") + " us (driver's own cache off), "
                + Files.size(directory.resolve(file)) + " bytes");
        return output;
    }

    private static boolean compilerRan(String output) {
        return output.replace(CACHED, "").contains(COMPILER_RAN) || output.contains("llvm_codegen");
    }

    private static void assertResult(String output, long size) {
        assertEquals(
                String.valueOf(Arrays.hashCode(
                        SampleKernels.reversed(Geometry.of(SampleKernels.COUNT).local(size), 2))),
                DriverProcess.value(output, "result" + size));
    }

    @Test
    @DisplayName("a binary taken after the launch restores in a new process with the same output,"
            + " without the compiler")
    void afterLaunch() throws Exception {
        String output = restore("launched-64", "plain", "64");
        assertResult(output, 64);
        assertFalse(compilerRan(output), output);
        assertTrue(output.contains(CACHED), output);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("control: a binary taken without a launch compiles at its first launch, as the"
            + " driver's messages show")
    void withoutLaunch() throws Exception {
        String output = restore("none", "plain", "16");
        assertResult(output, 16);
        assertTrue(compilerRan(output), output);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("a binary taken without a launch for two announced geometries runs both without"
            + " the compiler")
    void announced() throws Exception {
        String both = take("announced-16-64");
        assertEquals(
                "[reverse@256/16, reverse@256/64]", DriverProcess.value(both, "announced-16-64"));
        String output = restore("announced-16-64", "announced", "16", "64");
        assertResult(output, 16);
        assertResult(output, 64);
        assertFalse(compilerRan(output), output);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("A binary taken for an application's own launches runs the announced one without"
            + " the compiler")
    void ownLaunches() throws Exception {
        String own = take("program-16");
        assertEquals("[reverse@256/16]", DriverProcess.value(own, "program-16"));
        assertEquals("program-16", DriverProcess.value(own, "complete"));
        String output = restore("program-16", "announced", "16");
        assertResult(output, 16);
        assertFalse(compilerRan(output), output);
    }

    @Test
    @DisplayName("a binary claims only the geometries that it certainly covers: PoCL reads the"
            + " requested shapes once per process")
    void certainCoverage() throws Exception {
        assertEquals(
                "[reverse@256/16]",
                DriverProcess.value(taken, "announced-16"),
                "a take without shapes before does not spoil it");
        assertEquals("[]", DriverProcess.value(taken, "announced-64"));
        assertEquals("[reverse@256/64]", DriverProcess.value(taken, "launched-64"));
        assertFalse(compilerRan(restore("announced-16", "announced", "16")));
    }
}
