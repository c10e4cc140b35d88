package dev.granary.benchmarks.restore;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import dev.granary.benchmarks.harness.BenchmarkCommand;
import dev.granary.benchmarks.harness.Goal;
import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.demo.DriverVariables;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Tests that a run with one program has a figure for each way, of any value. */
class RestoreBenchmarkTest {
    private static final int USAGE = 2;
    private static final Path INTEL = Path.of("/etc/OpenCL/vendors/intel.icd");

    private static final List<String> WITH_SPIRV =
            List.of("compile", "spirv", "driver", "local", "signed", "getDriver", "bucket");

    @TempDir
    private Path directory = Path.of("");

    private JsonObject row(String backend, List<String> measured) throws Exception {
        return row(backend, measured, Map.of());
    }

    private JsonObject row(String backend, List<String> measured, Map<String, String> variables)
            throws Exception {
        Path json = directory.resolve("figures.json");
        ChildJvm.Result result = ChildJvm.of(RestoreBenchmark.class)
                .variables(RestoreBenchmark.CACHES_OFF)
                .variables(variables)
                .directory(directory)
                .mergeErrors()
                .run(
                        "--backend",
                        backend,
                        "--kernel",
                        "vector-add",
                        "--processes",
                        "1",
                        "--json",
                        json.toString());
        String text = result.out();
        assumeTrue(!text.contains("apt-get install") || Files.exists(json), text);
        assertEquals(0, result.exitCode(), text);
        assertTrue(text.lines().filter(line -> !line.contains("Device")).count() > 10, text);
        JsonObject row = JsonParser.parseString(Files.readString(json))
                .getAsJsonObject()
                .getAsJsonArray("sections")
                .get(0)
                .getAsJsonObject()
                .getAsJsonArray("rows")
                .get(0)
                .getAsJsonObject();
        for (String way : measured) {
            assertTrue(row.get(way).getAsDouble() > 0, () -> way + " of " + row);
        }
        return row;
    }

    @Test
    @DisplayName("OpenCL: compiled, restored by the driver, by the local tier without and with"
            + " signatures, and by a bucket")
    void openCl() throws Exception {
        JsonObject row = row(
                "opencl", List.of("compile", "driver", "local", "signed", "getDriver", "bucket"));
        assertEquals(
                OpenCl.devices().getFirst().intermediateLanguages().isEmpty(),
                row.get("spirv").isJsonNull(),
                row::toString);
    }

    @Test
    @DisplayName("Intel's OpenCL, simulated: the same, and from SPIR-V")
    void intelOpenCl() throws Exception {
        assumeTrue(
                Files.exists(INTEL), "Intel's driver, on Debian: apt-get install intel-opencl-icd");
        Path vendors = Files.createDirectory(directory.resolve("vendors"));
        Files.copy(INTEL, vendors.resolve("intel.icd")); // two in one process may clash
        Map<String, String> variables = new HashMap<>(DriverVariables.simulation(directory));
        variables.put("OCL_ICD_VENDORS", vendors.toString());
        row("opencl", WITH_SPIRV, variables);
    }

    @Test
    @DisplayName("Level Zero, simulated without a device: the same, and from SPIR-V")
    void levelZero() throws Exception {
        row("level-zero", WITH_SPIRV);
    }

    @Test
    @DisplayName("a wrong backend or program: exit code 2")
    void wrongUsage() {
        assertRefused("--backend must be opencl or level-zero, not cuda", "--backend", "cuda");
        assertRefused("--kernel must be one of vector-add, saxpy, ", "--kernel", "none");
    }

    private static void assertRefused(String message, String... arguments) {
        StringWriter err = new StringWriter();
        int status = BenchmarkCommand.line(new RestoreBenchmark())
                .setOut(new PrintWriter(new StringWriter()))
                .setErr(new PrintWriter(err))
                .execute(arguments);
        assertEquals(USAGE, status);
        assertTrue(err.toString().contains(message), err::toString);
    }

    @Test
    @DisplayName("A program is slower only beyond both limits: 1.1 times the same without Granary,"
            + " and 1 ms more")
    void limits() {
        for (RestoreWay bare : List.of(RestoreWay.DRIVER, RestoreWay.GET_DRIVER)) {
            assertEquals(0, slower(bare, 10, 11));
            assertEquals(0, slower(bare, 1, 1.9));
            assertEquals(0, slower(bare, 20, 21.5));
            assertEquals(1, slower(bare, 10, 11.2));
            assertEquals(1, slower(bare, 1, 2.1));
        }
    }

    /** Returns the figure of the goal that compares with {@code bare}. */
    private static double slower(RestoreWay bare, double bareMillis, double lookupMillis) {
        RestoreTimes times = new RestoreTimes();
        RestoreWay lookup = bare == RestoreWay.DRIVER ? RestoreWay.LOCAL : RestoreWay.BUCKET;
        for (int round = 0; round < RestoreTimes.Phase.WARM.to(); round++) {
            // the rounds before a warm JVM do not count
            boolean isWarm = round >= RestoreTimes.Phase.WARM.from();
            for (RestoreWay way : RestoreTurns.RESTORES) {
                times.record(
                        way,
                        way == bare ? bareMillis : way != lookup ? 1 : isWarm ? lookupMillis : 99);
            }
        }
        List<Goal> goals = new RestoreTables(Map.of(), Map.of("one", times)).goals(target("intel"));
        assertEquals(2, goals.size(), "none of PoCL's");
        return goals.get(bare == RestoreWay.DRIVER ? 0 : 1).figure();
    }

    private static Target target(String vendor) {
        return new Target(Backend.OPENCL, vendor, "device", "1.0");
    }

    @Test
    @DisplayName("The sum of the local tier has a goal for PoCL only")
    void goalOfPocl() {
        RestoreTimes times = new RestoreTimes();
        for (int round = 0; round < RestoreTimes.Phase.WARM.to(); round++) {
            times.record(RestoreWay.DRIVER, 10);
            times.record(RestoreWay.LOCAL, 10.6);
        }
        RestoreTables tables = new RestoreTables(Map.of(), Map.of("one", times));
        Goal sum = tables.goals(target("pocl")).getFirst();
        assertEquals("local / driver, all programs", sum.name());
        assertEquals(1.06, sum.figure(), 1e-9);
        assertFalse(sum.isMet());
        assertTrue(tables.goals(target("intel")).stream()
                .noneMatch(goal -> goal.name().equals(sum.name())));
    }
}
