package dev.granary.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import dev.granary.gpu.levelzero.LevelZero;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Test of the demo as a user runs it. */
class DemoTest {
    @Test
    @Tag("exhaustive")
    @DisplayName("With eight programs: ci compiles and tunes, node and laptop compile and try"
            + " nothing, packed weights are made once, every result is right")
    void quick() throws Exception {
        assertServesAll(8, "--quick");
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("With all programs: ci compiles and tunes, node and laptop compile and try"
            + " nothing, packed weights are made once, every result is right")
    void demo() throws Exception {
        assertServesAll(16);
    }

    /** Runs the demo, and checks the three machines with that number of programs. */
    private static void assertServesAll(int programs, String... options) throws Exception {
        Assumptions.assumeFalse(
                OpenCl.devices().isEmpty(), "no OpenCL device: apt-get install pocl-opencl-icd");
        JsonObject result = json(options);
        assertEquals(programs, result.get("kernels").getAsInt(), result::toString);
        checkRole(result, 0, "ci", "compiled", programs);
        checkRole(result, 1, "node", "bucket", programs);
        checkRole(result, 2, "laptop", "local", programs);
        assertEquals(programs, result.getAsJsonArray("results").size());
        assertTrue(result.get("success").getAsBoolean());
    }

    private static JsonObject json(String... options) throws Exception {
        String[] arguments =
                Stream.concat(Stream.of("--json"), Stream.of(options)).toArray(String[]::new);
        return JsonParser.parseString(
                        ChildJvm.of(Demo.class).shortLived().run(arguments).output())
                .getAsJsonObject();
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("The text has a row for each program and machine, and says that all is right")
    void text() throws Exception {
        Assumptions.assumeFalse(
                OpenCl.devices().isEmpty(), "no OpenCL device: apt-get install pocl-opencl-icd");
        String text = ChildJvm.of(Demo.class).shortLived().run("--quick").output();
        for (String row : List.of("saxpy", "total", "plan-gemm-tuned", "ci", "node", "laptop")) {
            assertTrue(text.lines().anyMatch(line -> line.startsWith(row + " ")), text);
        }
        assertTrue(text.stripTrailing().endsWith("every result is right."), text);
    }

    @Test
    @DisplayName("A device that does not exist is named, with exit code 1; another word for a"
            + " backend is rejected, with exit code 2")
    void noDevice() throws Exception {
        assertEquals(
                2, ChildJvm.of(Demo.class).shortLived().run("--backend", "cuda").exitCode());
        ChildJvm.Result result =
                ChildJvm.of(Demo.class).shortLived().run("--quick", "--device", "none such");
        assertEquals(1, result.exitCode(), result::toString);
        assertTrue(result.err().contains("there is no device 'none such'"), result::toString);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("On Level Zero, on a simulated device: ci compiles, node and laptop compile"
            + " nothing, and nothing is called checked")
    void simulated() throws Exception {
        boolean isInstalled = Files.exists(Path.of("/etc/OpenCL/vendors/intel.icd"))
                && LevelZero.devices().isEmpty();
        Assumptions.assumeTrue(
                isInstalled
                        && !(LevelZero.probe() instanceof LevelZero.Probe.Missing missing
                                && missing.cause().contains("loader")),
                "Intel's driver without a GPU, on Debian: apt-get install libze1 intel-opencl-icd");
        JsonObject result = json("--backend", "level-zero");
        assertFalse(result.get("checked").getAsBoolean());
        int programs = result.get("kernels").getAsInt();
        List<String> sources = List.of("compiled", "bucket", "local");
        for (int role = 0; role < sources.size(); role++) {
            JsonObject of = result.getAsJsonArray("roles").get(role).getAsJsonObject();
            assertEquals(programs, of.get(sources.get(role)).getAsInt(), result::toString);
            assertEquals(programs, of.get("memory").getAsInt(), result::toString);
            assertEquals(0, of.get("verified").getAsInt(), result::toString);
        }
    }

    private static void checkRole(
            JsonObject result, int index, String name, String source, int kernels) {
        JsonObject role = result.getAsJsonArray("roles").get(index).getAsJsonObject();
        assertEquals(name, role.get("role").getAsString());
        for (String other : new String[] {"compiled", "bucket", "local"}) {
            assertEquals(
                    other.equals(source) ? kernels : 0,
                    role.get(other).getAsInt(),
                    name + " " + other);
        }
        assertEquals(kernels, role.get("memory").getAsInt(), name);
        assertEquals(kernels, role.get("verified").getAsInt(), name);
        assertEquals(source, role.get("planFrom").getAsString(), name);
        assertEquals(
                source.equals("compiled"), role.get("plansTried").getAsInt() > 0, role::toString);
        assertEquals(1, role.get("constantsMade").getAsInt(), name);
        assertEquals(3, role.get("constantsReused").getAsInt(), name);
        assertTrue(role.get("constantsRight").getAsBoolean(), name);
    }
}
