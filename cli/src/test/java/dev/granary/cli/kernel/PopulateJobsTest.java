package dev.granary.cli.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;

import dev.granary.cli.Cli;
import dev.granary.coordinator.TestFleet;
import dev.granary.gpu.opencl.OpenCl;

import org.junit.jupiter.api.AfterEach;
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
import java.util.Map;
import java.util.TreeMap;

/** Tests of {@code populate} with several compilers, with parts of a manifest, and its outcomes. */
class PopulateJobsTest {
    private final Path directory;
    private final TestFleet fleet;

    PopulateJobsTest(@TempDir Path directory) throws IOException {
        Assumptions.assumeFalse(OpenCl.devices().isEmpty(), "no OpenCL device");
        this.directory = directory;
        this.fleet = new TestFleet(directory);
    }

    @AfterEach
    void stop() {
        fleet.close();
    }

    private String manifest(String text) throws IOException {
        return Files.writeString(directory.resolve("kernels.toml"), text).toString();
    }

    private void source(String name, String text) throws IOException {
        Files.createDirectories(directory.resolve("src"));
        Files.writeString(directory.resolve("src").resolve(name), text);
    }

    private void sources(int count) throws IOException {
        for (int i = 0; i < count; i++) {
            source(
                    "k" + i + ".cl",
                    "__kernel void k(__global int *a) { a[get_global_id(0)] += N + " + i + "; }\n");
        }
    }

    private Cli run(String command, String machine, String manifest, String... more) {
        List<String> all = new ArrayList<>(List.of(
                command,
                "--dir",
                directory.resolve(machine).toString(),
                "--bucket",
                "s3://kernels/ci",
                "--endpoint",
                fleet.endpoint(),
                manifest));
        all.addAll(List.of(more));
        return Cli.run(all.toArray(String[]::new));
    }

    /** Returns the outcomes that have kernels. */
    private static Map<String, Integer> outcomes(JsonObject result) {
        Map<String, Integer> outcomes = new TreeMap<>();
        result.getAsJsonObject("summary").asMap().forEach((name, count) -> {
            if (count.getAsInt() > 0 && !name.equals("failed")) {
                outcomes.put(name, count.getAsInt());
            }
        });
        return outcomes;
    }

    @Test
    @Tag("exhaustive")
    @DisplayName(
            "A compiler that crashes, or hangs, takes nothing with it: the others are compiled,"
                    + " published, and on another machine; each cause is reported; exit code 1")
    void hardPrograms() throws Exception {
        sources(2);
        source("crash.cl", HardPrograms.crashing());
        source("broken.cl", "__kernel void broken() { undeclared = 1; }\n");
        String all = manifest("""
            [defaults]
            define = { N = 1 }
            [[kernel]]
            source = "src/*.cl"
            [[kernel]]
            name = "again"
            source = "src/k0.cl"
            entry = ["k"]
            [[kernel]]
            name = "lost"
            source = "lost.cl"
            """);
        JsonObject result =
                run("populate", "ci", all, "--jobs", "2", "--json").exits(1).json();
        // the driver may see the equal program as the first or as the second
        Map<String, Integer> outcomes = outcomes(result);
        assertEquals(1, outcomes.get("crashed"), result::toString);
        assertEquals(1, outcomes.get("failed-to-compile"), result::toString);
        assertEquals(1, outcomes.get("unreadable"), result::toString);
        assertEquals(
                6, outcomes.values().stream().mapToInt(Integer::intValue).sum(), "one for each");
        assertEquals(2, result.getAsJsonObject("published").get("readBack").getAsInt());
        JsonObject crash = result.getAsJsonArray("results").get(1).getAsJsonObject();
        assertEquals("crashed", crash.get("outcome").getAsString());
        assertTrue(crash.get("error").getAsString().contains("SIGSEGV"), crash::toString);
        source("crash.cl", HardPrograms.endless());
        String hard = manifest("""
            [[kernel]]
            name = "endless"
            source = "src/crash.cl"
            [[kernel]]
            name = "lost"
            source = "lost.cl"
            """);
        run("populate", "ci", hard, "--compile-limit", "1")
                .exits(1)
                .prints("1 unreadable, 1 timed-out")
                .reports(
                        "FAILED endless: the compiler did not end within 1 s (--compile-limit)",
                        "FAILED lost: there is no file")
                .isNarrow();
        String good = manifest("[[kernel]]\nsource = 'src/k*.cl'\noptions = '-D N=1'\n");
        run("get", "node", good).exits(0).prints("0 compiled, 2 bucket");
        assertEquals(
                Map.of("local", 2),
                outcomes(run("populate", "ci", good, "--json").json()));
    }

    @Test
    @DisplayName("Numbers that are none, or out of range, are a wrong usage")
    void usage() throws Exception {
        String manifest = manifest("[[kernel]]\nname = 'k'\nsource = 'k.cl'\n");
        run("populate", "ci", manifest, "--jobs", "0")
                .exits(2)
                .reports("--jobs must be a positive number, not 0");
        run("populate", "ci", manifest, "--compile-limit", "-1")
                .exits(2)
                .reports("--compile-limit must be a positive number of seconds, not -1");
        run("populate", "ci", manifest, "--jobs", "many").exits(2).reports("--jobs");
        assertTrue(Files.notExists(directory.resolve("ci")));
    }
}
