package dev.granary.cli.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cli.Cli;
import dev.granary.cli.Main;
import dev.granary.gpu.binary.SampleBinaries;
import dev.granary.gpu.spirv.SpirvCompiler;
import dev.granary.local.EntryFiles;
import dev.granary.local.PrivateSubdirectory;
import dev.granary.s3.embedded.EmbeddedS3;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Tests of the commands with {@code --backend level-zero}, on Intel's drivers for a simulated
 * device. Each command is a process.
 */
class LevelZeroCommandsTest {
    private static final Path INTEL = Path.of("/etc/OpenCL/vendors/intel.icd");

    @TempDir
    static Path directory;

    private static EmbeddedS3 server;
    private static Path vendors; // only Intel's OpenCL: two in one process may clash
    private static String manifest;
    private static String moduleManifest; // of a kernel that has SPIR-V
    private static List<JsonObject> devices = List.of();

    @BeforeAll
    static void start() throws Exception {
        server = EmbeddedS3.start(null);
        server.createBucket("kernels");
        vendors = Files.createDirectory(directory.resolve("vendors"));
        if (Files.exists(INTEL)) {
            Files.copy(INTEL, vendors.resolve("intel.icd"));
            devices = devices();
        }
        String reason = "Intel's drivers of OpenCL and Level Zero, on Debian: apt-get install"
                + " libze1 intel-opencl-icd";
        boolean isInstalled = devices.size() == 2;
        assumeTrue(isInstalled, reason);
        Files.writeString(
                directory.resolve("twice.cl"),
                "kernel void twice(global float* v) { v[get_global_id(0)] *= 2; }\n");
        // the environment of a simulated device prevents caching; the digest stands for it
        manifest = Files.writeString(directory.resolve("kernels.toml"), """
                        [[kernel]]
                        name = "twice"
                        source = "twice.cl"
                        extra-digest = "simulated"
                        """).toString();
        Files.write(directory.resolve("saxpy.spv"), SampleBinaries.bytes("saxpy.spv"));
        moduleManifest =
                Files.writeString(directory.resolve("module.toml"), """
                        [[kernel]]
                        name = "saxpy"
                        source = "saxpy.spv"
                        extra-digest = "simulated"
                        """).toString();
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    private static Cli run(String machine, String bucket, String... arguments) throws Exception {
        Map<String, String> variables = new HashMap<>(Map.of(
                "XDG_CONFIG_HOME", "/nonexistent",
                "GRANARY_DIR", directory.resolve(machine).toString(),
                "GRANARY_BUCKET_WAIT", "1m",
                "OCL_ICD_VENDORS", vendors.toString(),
                "NEOReadDebugKeys", "1",
                "SetCommandStreamReceiver", "1",
                "ProductFamilyOverride", "tgllp",
                "NEO_CACHE_PERSISTENT", "0"));
        if (!bucket.isEmpty()) {
            variables.putAll(Map.of(
                    "GRANARY_BUCKET", "s3://kernels/" + bucket,
                    "GRANARY_S3_ENDPOINT", server.endpoint().toString(),
                    "AWS_ACCESS_KEY_ID", server.accessKey(),
                    "AWS_SECRET_ACCESS_KEY", server.secretKey(),
                    "AWS_REGION", "us-east-1"));
        }
        return Cli.of(ChildJvm.of(Main.class)
                .shortLived()
                .directory(Files.createTempDirectory(directory, "process"))
                .withoutVariables("GRANARY_", "AWS_")
                .variables(variables)
                .run(arguments));
    }

    private static List<JsonObject> devices() throws Exception {
        return run("any", "", "devices", "--json")
                .exits(0)
                .json()
                .getAsJsonArray("devices")
                .asList()
                .stream()
                .map(JsonElement::getAsJsonObject)
                .toList();
    }

    private static String target(String backend) {
        return devices.stream()
                .filter(device -> device.get("backend").getAsString().equals(backend))
                .map(device -> device.get("target").getAsString())
                .findFirst()
                .orElseThrow();
    }

    private static JsonObject result(Cli ran) {
        return ran.exits(0).json().getAsJsonArray("results").get(0).getAsJsonObject();
    }

    private static JsonObject runKernel(String machine, String bucket, String... more)
            throws Exception {
        List<String> arguments = new ArrayList<>(List.of("get", manifest, "--json"));
        arguments.addAll(List.of(more));
        return result(run(machine, bucket, arguments.toArray(String[]::new)));
    }

    @Test
    @DisplayName("devices shows that Level Zero reads OpenCL's target, and not the reverse")
    void reads() {
        List<List<String>> reads = devices.stream()
                .map(device -> device.getAsJsonArray("reads").asList().stream()
                        .map(JsonElement::getAsString)
                        .toList())
                .toList();
        assertEquals(
                List.of(List.of(target("opencl")), List.of(target("level-zero"), target("opencl"))),
                reads);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("run on both backends: target and, after a cross-namespace hit, from")
    void cross() throws Exception {
        JsonObject compiled = runKernel("cross", ""); // by default OpenCL
        assertEquals("compiled", compiled.get("outcome").getAsString());
        assertEquals(target("opencl"), compiled.get("target").getAsString());
        JsonObject crossed = runKernel("cross", "", "--backend", "level-zero", "--device", "0");
        assertEquals("local", crossed.get("outcome").getAsString());
        assertEquals(target("level-zero"), crossed.get("target").getAsString());
        assertEquals(target("opencl"), crossed.get("from").getAsString());
        JsonObject own = runKernel("cross", "", "--backend", "level-zero", "--device", "graphics");
        assertEquals("local", own.get("outcome").getAsString());
        assertTrue(own.get("from").isJsonNull());
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("populate compiles for Level Zero; warm fetches what it reads as well")
    void populateAndWarm() throws Exception {
        assertEquals(
                target("level-zero"),
                result(run(
                                "ci",
                                "native",
                                "populate",
                                manifest,
                                "--json",
                                "--backend",
                                "level-zero"))
                        .get("target")
                        .getAsString());
        assertEquals(
                "bucket",
                runKernel("node", "native", "--backend", "level-zero")
                        .get("outcome")
                        .getAsString());
        run("ci2", "opencl", "populate", manifest, "--backend", "opencl").exits(0);
        run("warmed", "opencl", "warm", "--backend", "level-zero")
                .exits(0)
                .prints("for  " + target("level-zero"), "for  " + target("opencl"));
        assertEquals(
                target("opencl"),
                runKernel("warmed", "", "--backend", "level-zero").get("from").getAsString());
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("doctor examines the selected backend; warm refuses a device beside a target")
    void doctorAndWarm() throws Exception {
        run("d", "", "doctor", "--backend", "level-zero")
                .exits(0)
                .prints("  reads    " + target("opencl"), "ok       devices: ");
        run("w", "any", "warm", "--target", "opencl/a", "--device", "0")
                .exits(2)
                .reports("--target selects entries without a device");
    }

    private static Cli explain(String machine, String kernel, String... more) throws Exception {
        List<String> arguments =
                new ArrayList<>(List.of("inspect", kernel, "--backend", "level-zero"));
        arguments.addAll(List.of(more));
        return run(machine, "", arguments.toArray(String[]::new)).exits(0);
    }

    @Test
    @DisplayName("explain shows where the SPIR-V of a compile comes from")
    void explainedSpirv() throws Exception {
        boolean hasCompiler =
                SpirvCompiler.onPath().presence() instanceof SpirvCompiler.Presence.Installed;
        Cli text = explain("explained", manifest + "#twice").isNarrow();
        assertTrue(
                text.out()
                        .replaceAll("\\s+", " ")
                        .contains(
                                hasCompiler
                                        ? " SPIR-V compiled, and stored "
                                        : " SPIR-V none, so the compile fails: no compiler from"),
                text::toString);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName(
            "explain in JSON: the steps of a hit, of a kernel that has SPIR-V, and of a compile"
                    + " from the kept SPIR-V")
    void explainedSpirvInJson() throws Exception {
        assumeTrue(
                SpirvCompiler.onPath().presence() instanceof SpirvCompiler.Presence.Installed,
                "ocloc, on Debian: apt-get install intel-opencl-icd");
        runKernel("kept", "", "--backend", "level-zero");
        assertEquals(List.of("load", "restore"), steps(manifest + "#twice"));
        assertEquals(List.of("load", "compile"), steps(moduleManifest + "#saxpy"));
        run("kept", "", "evict", "--target", target("level-zero")).exits(0);
        // of the binary: load; of its SPIR-V: load and restore; then the driver compiles it
        assertEquals(List.of("load", "load", "restore", "compile"), steps(manifest + "#twice"));
    }

    private static List<String> steps(String kernel) throws Exception {
        return explain("kept", kernel, "--json").json().getAsJsonArray("steps").asList().stream()
                .map(step -> step.getAsJsonObject().get("step").getAsString())
                .toList();
    }

    @Test
    @DisplayName("devices shows the intermediate languages of each device; run compiles a"
            + " module of a manifest")
    void module() throws Exception {
        List<String> languages = devices.stream()
                .map(device -> device.getAsJsonArray("intermediateLanguages").toString())
                .toList();
        for (String each : languages) {
            assertTrue(each.contains("\"SPIR-V_1."), languages::toString);
        }
        assertEquals(
                "compiled",
                result(run("module", "", "get", moduleManifest, "--json"))
                        .get("outcome")
                        .getAsString());
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("populate publishes a module's binary by compiler processes of both backends,"
            + " also for a device that is not here; nodes get them")
    void populatedModules() throws Exception {
        for (String backend : List.of("opencl", "level-zero")) {
            run("ci-" + backend, backend, "populate", moduleManifest, "--backend", backend)
                    .exits(0);
            JsonObject node = result(run(
                    "node-" + backend,
                    backend,
                    "get",
                    moduleManifest,
                    "--json",
                    "--backend",
                    backend));
            assertEquals("bucket", node.get("outcome").getAsString());
        }
        run("any", "", "devices").exits(0).prints("takes    SPIR-V_1.");
        run("ci-offline", "offline", "populate", moduleManifest, "--target", target("opencl"))
                .exits(0);
        assertEquals(
                "bucket",
                result(run("offline-node", "offline", "get", moduleManifest, "--json"))
                        .get("outcome")
                        .getAsString());
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("verify --recompile: a stored binary that the compiler makes again is equal, and"
            + " another one in its place is different, with 1")
    void recompiled() throws Exception {
        runKernel("recompiled", "");
        String[] verify = {
            "verify",
            directory.resolve("recompiled").toString(),
            "--recompile",
            "3",
            "--manifest",
            manifest,
            "--backend",
            "opencl",
            "--json"
        };
        JsonObject equal = run("any", "", verify).exits(0).json();
        assertEquals("equal", verdict(equal));
        EntryFiles files =
                EntryFiles.in(PrivateSubdirectory.resolve(directory.resolve("recompiled")));
        List<EntryCatalog.Listed> listed = new ArrayList<>();
        files.list(listed::add);
        Entry entry = assertInstanceOf(LoadResult.Hit.class, files.read(listed.getFirst()))
                .entry();
        assertTrue(files.remove(listed.getFirst()));
        files.store(Entry.of(
                entry.id(),
                KernelBinaries.of(new byte[] {1, 2, 3}),
                entry.compileTime(),
                entry.metadata().orElseThrow()));
        Cli forged = run("any", "", verify).exits(1);
        assertEquals("different", verdict(forged.json()));
        forged.reports("the compiler does not make the stored binaries");
    }

    private static String verdict(JsonObject report) {
        return report.getAsJsonArray("recompiled")
                .get(0)
                .getAsJsonObject()
                .get("result")
                .getAsString();
    }
}
