package dev.granary.cli.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import dev.granary.cli.Cli;
import dev.granary.cli.Main;
import dev.granary.coordinator.TestFleet;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.embedded.EmbeddedS3;
import dev.granary.testing.ChildJvm;

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
import java.util.Set;

/**
 * Tests of {@code populate} and {@code run} with a real driver, and a real client against an
 * embedded server.
 */
class PopulateTest {
    private final Path directory;

    PopulateTest(@TempDir Path directory) {
        Assumptions.assumeFalse(OpenCl.devices().isEmpty(), "no OpenCL device");
        this.directory = directory;
    }

    private String manifest(String more) throws IOException {
        Files.createDirectories(directory.resolve("include"));
        Files.writeString(
                directory.resolve("include").resolve("scale.h"),
                "#define SCALE(x) ((x) * FACTOR)\n");
        Files.writeString(
                directory.resolve("scale.cl"),
                "#include \"scale.h\"\n"
                        + "__kernel void scale(__global float *v) {"
                        + " size_t i = get_global_id(0); v[i] = SCALE(v[i]); }\n");
        Files.writeString(
                directory.resolve("add.cl"),
                "__kernel void add(__global float *a, __global const float *b) { size_t i ="
                        + " get_global_id(0); a[i] += b[i]; }\n");
        return Files.writeString(directory.resolve("kernels.toml"), """
            [[kernel]]
            name = "scale"
            source = "scale.cl"
            include = ["include"]
            options = "-D FACTOR=3.0f"

            [[kernel]]
            name = "add"
            source = "add.cl"
            geometry = { global = [1024], local = [64] }
            """ + more).toString();
    }

    private static void assertSummary(
            JsonObject result, int compiled, int local, int bucket, int failed) {
        JsonObject summary = result.getAsJsonObject("summary");
        assertEquals(
                List.of(
                        "compiled",
                        "bucket",
                        "local",
                        "memory",
                        "joined",
                        "unreadable",
                        "failed-to-compile",
                        "crashed",
                        "timed-out",
                        "incompatible",
                        "internal-error",
                        "not-cacheable",
                        "not-stored",
                        "not-read-back",
                        "failed"),
                List.copyOf(summary.keySet()));
        assertEquals(
                List.of(compiled, 0, local, bucket, failed),
                List.of("compiled", "memory", "local", "bucket", "failed").stream()
                        .map(name -> summary.get(name).getAsInt())
                        .toList(),
                result::toString);
    }

    /** Asserts that these machines have noted the use of both kernels. */
    private static void assertUse(int machines, String bucket, String endpoint) {
        JsonObject fleet = Cli.run("stats", "--fleet", bucket, "--endpoint", endpoint, "--json")
                .exits(0)
                .json();
        assertEquals(machines, fleet.get("nodes").getAsInt(), fleet::toString);
        assertEquals(2, fleet.get("idsUsed").getAsInt(), fleet::toString);
    }

    @Test
    @DisplayName("populate compiles and publishes; another machine gets all from the bucket, then"
            + " from its disk, then offline")
    void populateAndRun() throws Exception {
        String manifest = manifest("");
        try (EmbeddedS3 s3 = EmbeddedS3.start(null)) {
            s3.createBucket("kernels");
            System.setProperty("aws.accessKeyId", s3.accessKey());
            System.setProperty("aws.secretAccessKey", s3.secretKey());
            String endpoint = s3.endpoint().toString();
            List<String> bucket = List.of("--bucket", "s3://kernels/ci", "--endpoint", endpoint);

            JsonObject first = run("populate", "builder", bucket, manifest, "--json")
                    .exits(0)
                    .json();
            assertSummary(first, 2, 0, 0, 0);
            assertEquals(2, first.getAsJsonObject("published").get("stored").getAsInt());
            assertFalse(first.has("unstableInputs"), first::toString);
            for (JsonElement element : first.getAsJsonArray("results")) {
                JsonObject one = element.getAsJsonObject();
                assertEquals(
                        Set.of(
                                "name", "target", "id", "outcome", "layer", "millis", "waited",
                                "bytes", "from", "error"),
                        one.keySet());
                assertTrue(
                        one.get("bytes").getAsLong() > 0
                                && one.get("id").getAsString().length() == 64,
                        one::toString);
            }
            assertSummary(
                    run("get", "other", bucket, manifest, "--json").exits(0).json(), 0, 0, 2, 0);
            assertSummary(
                    run("get", "other", bucket, manifest, "--json").exits(0).json(), 0, 2, 0, 0);
            JsonObject again = run("populate", "builder", bucket, manifest, "--json")
                    .exits(0)
                    .json();
            assertSummary(again, 0, 2, 0, 0);
            assertEquals(2, again.getAsJsonObject("published").get("present").getAsInt());
            run(
                            "populate",
                            "builder",
                            List.of(
                                    "--bucket",
                                    "s3://kernels/second",
                                    "--endpoint",
                                    s3.endpoint().toString()),
                            manifest)
                    .exits(0)
                    .prints("2 local", "s3://kernels/second: 2 published")
                    .isNarrow();
            assertSummary(
                    run("get", "other", List.of(), manifest, "--json").exits(0).json(), 0, 2, 0, 0);
            run("warm", "warmed", bucket)
                    .exits(0)
                    .prints("installed  2 entries (", "present    0", "skipped    0");
            assertUse(2, "s3://kernels/ci", endpoint); // warm uses nothing
            assertSummary(
                    run("get", "warmed", bucket, manifest, "--json").exits(0).json(), 0, 2, 0, 0);
            Cli listed = Cli.run("ls", "s3://kernels/ci", "--endpoint", endpoint, "--json")
                    .exits(0);
            assertEquals(2, listed.json().getAsJsonArray("entries").size());
            run("stats", "other", List.of()).exits(0).prints("entries    2", "layer-hits");
            List<String> layers = List.of(
                    "--bucket",
                    "s3://kernels/team",
                    "--bucket",
                    "s3://kernels/ci?access=read",
                    "--endpoint",
                    s3.endpoint().toString());
            JsonObject layered =
                    run("get", "layered", layers, manifest, "--json").exits(0).json();
            assertSummary(layered, 0, 0, 2, 0);
            assertEquals(
                    "s3://kernels/ci at " + s3.endpoint(),
                    layered.getAsJsonArray("results")
                            .get(0)
                            .getAsJsonObject()
                            .get("layer")
                            .getAsString());
            JsonObject second = layered.getAsJsonArray("buckets")
                    .get(1)
                    .getAsJsonObject()
                    .getAsJsonObject("counters");
            assertEquals(
                    List.of(2, 0),
                    List.of(
                            second.get("layer-hits").getAsInt(),
                            second.get("layer-skipped").getAsInt()));
            run("populate", "again", layers, manifest)
                    .exits(0)
                    .prints(
                            "team at " + s3.endpoint() + ": 0 kernels",
                            "ci at " + s3.endpoint() + ": 2 kernels",
                            "s3://kernels/team: 2 published")
                    .isNarrow();
            Cli.run("ls", "s3://kernels/team", "--endpoint", endpoint).exits(0).prints("2 entries");
            Cli.run("stats", "s3://kernels/ci", "--endpoint", endpoint)
                    .exits(0)
                    .prints("entries    2");
            run("stats", "again", List.of()).exits(0).prints("layer-hits s3://kernels/ci");
            assertUse(5, "s3://kernels/ci", endpoint);
            assertUse(1, "s3://kernels/second", endpoint);
            assertUse(2, "s3://kernels/team", endpoint);
            run("doctor", "other", bucket).exits(0).prints("ok       bucket");
        } finally {
            System.clearProperty("aws.accessKeyId");
            System.clearProperty("aws.secretAccessKey");
        }
        run(
                        "get",
                        "other",
                        List.of("--bucket", "s3://kernels/ci", "--endpoint", "http://127.0.0.1:1"),
                        manifest)
                .exits(0)
                .prints("0 compiled", "2 local")
                .isNarrow();
    }

    @Test
    @Tag("exhaustive")
    @DisplayName(
            "neither a pack nor an entry can be written: populate reports cause and remedy and ends"
                    + " with 1; the next one uploads without compiling")
    void packRefused() throws Exception {
        String manifest = manifest("");
        try (TestFleet fleet = new TestFleet(directory)) {
            List<String> bucket =
                    List.of("--bucket", "s3://kernels/ci", "--endpoint", fleet.endpoint());
            fleet.plan(FaultPlan.when(
                    request -> request.operation().startsWith("PUT"),
                    new Fault.Lost(Fault.DENIED)));
            // the second time, the outbox uploads the same entries first
            for (int i = 0; i < 2; i++) {
                run("populate", "builder", bucket, manifest)
                        .exits(1)
                        .prints("s3://kernels/ci: 0 published, 0 there already, 2 failed")
                        .reports("not published", "AccessDenied", "populate again");
            }
            assertEquals(List.of(), fleet.keys("/m/"));
            fleet.plan(FaultPlan.SOUND);
            JsonObject again = run("populate", "builder", bucket, manifest, "--json")
                    .exits(0)
                    .json();
            assertSummary(again, 0, 2, 0, 0);
            assertEquals(1, fleet.keys("/p/").size());
            Cli.run("ls", "s3://kernels/ci", "--endpoint", fleet.endpoint())
                    .exits(0)
                    .prints("2 entries");
        }
    }

    @Test
    @DisplayName(
            "A kernel that does not compile, or has no file, does not affect the others; its build"
                    + " log is shown; exit code 1")
    void oneFails() throws Exception {
        Files.writeString(
                directory.resolve("broken.cl"), "__kernel void broken() { undeclared = 1; }\n");
        String manifest = manifest("""
            [[kernel]]
            name = "broken"
            source = "broken.cl"

            [[kernel]]
            name = "lost"
            source = "lost.cl"
            """);
        JsonObject result =
                run("get", "local", List.of(), manifest, "--json").exits(1).json();
        assertSummary(result, 2, 0, 0, 2);
        JsonObject broken = result.getAsJsonArray("results").get(2).getAsJsonObject();
        assertTrue(broken.get("error").getAsString().contains("undeclared"), broken::toString);
        Cli text = run("get", "local", List.of(), manifest)
                .exits(1)
                .prints("4 kernels: 0 compiled", "2 local", "2 failed")
                .reports(
                        "FAILED broken",
                        "undeclared",
                        "FAILED lost: there is no file " + directory.resolve("lost.cl"));
        assertFalse(text.err().contains("Exception"), text.err());
    }

    @Test
    @DisplayName("a real driver's log of a kernel: the user's files and lines, 20 lines at most,"
            + " all with --verbose, the same as JSON")
    void buildLog() throws Exception {
        String manifest = manifest("");
        Files.writeString(
                directory.resolve("include").resolve("scale.h"),
                "#define SCALE(x) ((x) * FACTOR)\nundeclared_type broken;\n");
        Files.writeString(
                directory.resolve("add.cl"),
                "__kernel void add(__global float *a) {\n" + "    undeclared = 1;\n".repeat(30)
                        + "}\n");
        Cli text = run("get", "local", List.of(), manifest)
                .exits(1)
                .reports(
                        "FAILED scale",
                        "FAILED add",
                        directory.resolve("include/scale.h") + ":2:1: error:",
                        directory.resolve("add.cl") + ":2:5: error:",
                        " more lines; --verbose shows all");
        assertFalse(text.err().contains("granary-headers"), text.err());
        assertTrue(
                text.err().lines().filter(line -> !line.isEmpty()).count()
                        <= 2 * (1 + BuildLog.MAX_LINES),
                text.err());
        Cli verbose = run("get", "local", List.of(), manifest, "--verbose")
                .exits(1)
                .reports(directory.resolve("add.cl") + ":30:5: error:");
        assertFalse(verbose.err().contains("--verbose shows all"), verbose.err());
        String error = run("get", "local", List.of(), manifest, "--json")
                .exits(1)
                .json()
                .getAsJsonArray("results")
                .get(1)
                .getAsJsonObject()
                .get("error")
                .getAsString();
        assertEquals(1 + BuildLog.MAX_LINES, error.lines().count(), error);
    }

    @Test
    @DisplayName("a device that does not exist, by name or number, is a wrong use, reported with"
            + " the present ones; so is a wrong backend")
    void noSuchDevice() throws Exception {
        String present = "opencl 0 " + OpenCl.devices().getFirst();
        run("get", "local", List.of(), manifest(""), "--device", "abacus")
                .exits(2)
                .reports("no device name contains 'abacus'; the devices are: ", present);
        run("get", "local", List.of(), manifest(""), "--device", "99")
                .exits(2)
                .reports("there is no device 99; the devices are: ", present);
        run("get", "local", List.of(), manifest(""), "--backend", "opencl", "--device", "abacus")
                .exits(2)
                .reports("no device name contains 'abacus'", present);
        run("get", "local", List.of(), manifest(""), "--backend", "vulkan")
                .exits(2)
                .reports("'--backend': it must be opencl, level-zero or auto, not vulkan");
        run("doctor", "local", List.of(), "--device", "99").exits(2).reports(present);
    }

    /** Gets the kernels in a process with two devices of PoCL. */
    private Cli onOneOfTwo(String device) throws Exception {
        String vendor = OpenCl.devices().getFirst().target().vendor();
        Assumptions.assumeTrue(
                vendor.equals("pocl"), "PoCL, on Debian: apt-get install pocl-opencl-icd");
        return Cli.of(ChildJvm.of(Main.class)
                .shortLived()
                .withoutVariables("GRANARY_")
                .variables(Map.of(
                        "POCL_DEVICES",
                        "pthread basic",
                        "XDG_CONFIG_HOME",
                        "/nonexistent",
                        "GRANARY_DIR",
                        directory.resolve("two devices").toString()))
                .run("get", manifest(""), "--device", device));
    }

    @Test
    @DisplayName("a part of the names of devices with different targets is ambiguous")
    void ambiguous() throws Exception {
        onOneOfTwo("Portable Computing")
                .exits(2)
                .reports(
                        "several device names contain 'Portable Computing'; give a longer"
                                + " part or the number, and --backend if needed: ",
                        "opencl 0 ",
                        "opencl 1 ",
                        "pthread",
                        "basic");
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("the number of one of two devices is not ambiguous")
    void number() throws Exception {
        onOneOfTwo("1").exits(0);
    }

    @Test
    @DisplayName("a tag with a date is named, and is no failure")
    void unstableInputs() throws Exception {
        List<String> shared = List.of(
                "--bucket",
                "file://" + directory.resolve("shared"),
                "--engine", // in this process
                SleepingEngine.class.getName());
        String manifest = manifest("tag = \"built 2026-11-28\"\n");
        JsonObject json =
                run("populate", "builder", shared, manifest, "--json").exits(0).json();
        JsonArray found = json.getAsJsonArray("unstableInputs");
        assertEquals(1, found.size(), json::toString);
        assertEquals("add", found.get(0).getAsJsonObject().get("kernel").getAsString());
        run("populate", "builder", shared, manifest)
                .exits(0)
                .prints("note: kernel 'add': the tag built 2026-11-28 has a date or time;");
    }

    @Test
    @DisplayName("the target of each result is in the JSON, and a number selects a device")
    void target() throws Exception {
        JsonObject result = run(
                        "get",
                        "local",
                        List.of(),
                        manifest(""),
                        "--json",
                        "--backend",
                        "auto",
                        "--device",
                        "0")
                .exits(0)
                .json();
        for (JsonElement each : result.getAsJsonArray("results")) {
            assertEquals(
                    OpenCl.devices().getFirst().target().path(),
                    each.getAsJsonObject().get("target").getAsString());
            assertTrue(each.getAsJsonObject().get("from").isJsonNull());
            assertTrue(each.getAsJsonObject().get("waited").isJsonNull());
        }
    }

    private Cli run(String command, String local, List<String> stores, String... arguments) {
        List<String> all = new ArrayList<>(
                List.of(command, "--dir", directory.resolve(local).toString()));
        if (command.equals("populate")) {
            all.addAll(List.of("--jobs", "1")); // a compiler takes a second of a processor to start
        }
        all.addAll(stores);
        all.addAll(List.of(arguments));
        return Cli.run(all.toArray(String[]::new));
    }
}
