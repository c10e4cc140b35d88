package dev.granary.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;

import dev.granary.demo.kernels.DemoKernels;
import dev.granary.gpu.levelzero.LevelZero;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Test of the demo as a user runs it. */
@ExtendWith(WithDevice.class)
class DemoTest {
    @Test
    @DisplayName("N1 R1 M15 P12 the demo with eight kernels: ci compiles and tunes, node and laptop"
            + " compile and try nothing, packed weights are made once, every result is right")
    void quick() throws Exception {
        assertServesAll(DemoKernels.quick().size() + 1, "--quick");
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("N1 R1 M15 P12 the demo: ci compiles and tunes, node and laptop compile and try"
            + " nothing,"
            + " packed weights are made once, every result is right")
    void demo() throws Exception {
        assertServesAll(DemoKernels.all().size() + 1);
    }

    /** Runs the demo, and checks the three roles with that number of kernels. */
    private static void assertServesAll(int kernels, String... options) throws Exception {
        GranaryProcess.Result demo = GranaryProcess.run(
                Map.of(),
                Stream.concat(Stream.of("demo", "--json"), Stream.of(options))
                        .toArray(String[]::new));
        assertEquals(0, demo.exitCode(), demo::toString);
        JsonObject result = demo.json();
        assertEquals(kernels, result.get("kernels").getAsInt(), demo::toString);
        checkRole(result, 0, "ci", "compiled", kernels);
        checkRole(result, 1, "node", "bucket", kernels);
        checkRole(result, 2, "laptop", "local", kernels);
        assertEquals(kernels, result.getAsJsonArray("results").size());
    }

    @Test
    @Tag("exhaustive")
    @DisplayName(
            "N11 N12 the demo on Level Zero, on a simulated device: ci compiles, node and laptop"
                    + " compile nothing, and nothing is called checked")
    void simulated() throws Exception {
        boolean isInstalled = Files.exists(Path.of("/etc/OpenCL/vendors/intel.icd"))
                && LevelZero.devices().isEmpty();
        Assumptions.assumeTrue(
                isInstalled
                        && !(LevelZero.probe() instanceof LevelZero.Probe.Missing missing
                                && missing.cause().contains("loader")),
                "Intel's driver without a GPU, on Debian: apt-get install libze1 intel-opencl-icd");
        GranaryProcess.Result demo =
                GranaryProcess.run(Map.of(), "demo", "--json", "--backend", "level-zero");
        assertEquals(0, demo.exitCode(), demo::toString);
        JsonObject result = demo.json();
        assertFalse(result.get("checked").getAsBoolean());
        int kernels = result.get("kernels").getAsInt();
        List<String> sources = List.of("compiled", "bucket", "local");
        for (int role = 0; role < sources.size(); role++) {
            JsonObject of = result.getAsJsonArray("roles").get(role).getAsJsonObject();
            assertEquals(kernels, of.get(sources.get(role)).getAsInt(), demo::toString);
            assertEquals(kernels, of.get("memory").getAsInt(), demo::toString);
            assertEquals(0, of.get("verified").getAsInt(), demo::toString);
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
