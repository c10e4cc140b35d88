package dev.granary.gpu.levelzero;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.granary.gpu.DriverProcess;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Tests on Intel's driver without a GPU: it builds and restores for a simulated device, but its
 * kernels compute nothing. Each process has one driver, and nothing of OpenCL on its class path.
 */
class IntelDriverTest {
    private static final String TIGER_LAKE = "tgllp";

    @TempDir
    static Path directory;

    private static String built;
    private static String restored;

    @BeforeAll
    static void build() throws Exception {
        Path own = directory.resolve("own");
        String output = run(TIGER_LAKE, "build", own).output();
        boolean isMissing = output.contains("missing=");
        String reason = "Intel's Level Zero driver, on Debian: apt-get install libze1"
                + " intel-opencl-icd";
        assumeTrue(!isMissing, reason);
        built = output;
        byte[] bytes = Files.readAllBytes(own);
        Path part =
                Files.write(directory.resolve("part"), Arrays.copyOf(bytes, bytes.length * 2 / 3));
        restored = run(
                        TIGER_LAKE,
                        "restore",
                        own,
                        part,
                        offline(TIGER_LAKE, "offline"),
                        offline("skl", "foreign"))
                .output();
    }

    private static ChildJvm.Result run(String device, String mode, Path... files) throws Exception {
        Path own = Files.createTempDirectory(directory, "process"); // the driver writes files
        return DriverProcess.of(ModuleProgram.class, own)
                .classPath(part -> !String.valueOf(part.getFileName()).startsWith("lwjgl"))
                .variables(Map.of(
                        "NEOReadDebugKeys", "1",
                        "SetCommandStreamReceiver", "1",
                        "ProductFamilyOverride", device,
                        "NEO_CACHE_PERSISTENT", "0"))
                .run(Stream.concat(Stream.of(mode), Arrays.stream(files).map(Path::toString))
                        .toArray(String[]::new));
    }

    /** Compiles the program of the test with Intel's offline compiler. */
    private static Path offline(String device, String name)
            throws IOException, InterruptedException {
        Path own = Files.createTempDirectory(directory, "offline");
        Path source = own.resolve("sample.cl");
        Files.writeString(source, ModuleProgram.SOURCE);
        Files.writeString(own.resolve("factor.clh"), ModuleProgram.HEADER);
        Process ocloc = new ProcessBuilder(
                        "ocloc", "compile", "-file", source.toString(), "-device", device)
                .directory(own.toFile())
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        assertEquals(0, ocloc.waitFor());
        try (Stream<Path> files = Files.list(own)) {
            Path made = files.filter(file -> file.getFileName().toString().endsWith(".bin"))
                    .findFirst()
                    .orElseThrow();
            return Files.move(made, directory.resolve(name));
        }
    }

    @Test
    @DisplayName("OpenCL C is built, launched, and restored by a new process without OpenCL")
    void restore() {
        assertEquals("COMPILED", DriverProcess.value(built, "built.origin"));
        assertEquals("[reverse, scale]", DriverProcess.value(built, "built.kernels"));
        assertEquals("closed", DriverProcess.value(built, "end"));
        assertEquals("RESTORED", DriverProcess.value(restored, "own.origin"));
        assertEquals("[reverse, scale]", DriverProcess.value(restored, "own.kernels"));
        assertEquals("closed", DriverProcess.value(restored, "end"));
        assertEquals(DriverProcess.value(built, "target"), DriverProcess.value(restored, "target"));
        System.out.println("Intel's driver, simulated: build "
                + DriverProcess.value(built, "built.micros") + " us, restore "
                + DriverProcess.value(restored, "own.micros") + " us, restore again "
                + DriverProcess.value(restored, "own.againMicros")
                + " us (driver's own cache off)");
    }

    @Test
    @DisplayName("a truncated binary is refused by the driver, with call and code")
    void truncated() {
        String refused = DriverProcess.value(restored, "part.refused");
        assertTrue(refused.contains("zeModuleCreate failed with 0x7800000f"), refused);
    }

    @Test
    @DisplayName("a binary of the offline compiler is restored without compiling")
    void offlineBinary() {
        assertEquals("RESTORED", DriverProcess.value(restored, "offline.origin"));
        assertEquals("[reverse, scale]", DriverProcess.value(restored, "offline.kernels"));
    }

    @Test
    @DisplayName("a binary of another device is compiled again by the driver, which is seen")
    void recompiled() {
        assertEquals("RECOMPILED", DriverProcess.value(restored, "foreign.origin"));
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("the same on other simulated devices, each with a target of its own")
    void otherDevices() throws Exception {
        Set<String> targets = new HashSet<>(Set.of(DriverProcess.value(built, "target")));
        for (String device : List.of("skl", "dg1", "adls")) {
            Path file = directory.resolve("of-" + device);
            String made = run(device, "build", file).output();
            assertEquals("COMPILED", DriverProcess.value(made, "built.origin"));
            assertEquals(
                    "RESTORED",
                    DriverProcess.value(
                            run(device, "restore", file).output(), "of-" + device + ".origin"));
            targets.add(DriverProcess.value(made, "target"));
        }
        assertEquals(4, targets.size(), targets.toString());
    }
}
