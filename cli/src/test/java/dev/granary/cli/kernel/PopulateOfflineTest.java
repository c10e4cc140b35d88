package dev.granary.cli.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import dev.granary.cli.Cli;
import dev.granary.cli.Main;
import dev.granary.coordinator.TestFleet;
import dev.granary.gpu.offline.Ocloc;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.spirv.IntermediateDescriptor;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
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
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Tests of {@code populate --target} with Intel's compiler, and of Intel's driver, which gets the
 * entries for a simulated device. The commands are processes: the one that populates has no driver.
 */
class PopulateOfflineTest {
    private static final String INSTALL = "apt-get install intel-opencl-icd libze1";
    private static final Path INTEL_ICD = Path.of("/etc/OpenCL/vendors/intel.icd");

    /** The id of the device that Intel's driver simulates for Tiger Lake. */
    private static final String SIMULATED = "0xff20";

    private static final long LIMIT_NANOS = TimeUnit.MINUTES.toNanos(5);

    @TempDir
    Path directory;

    private TestFleet fleet;

    @BeforeEach
    void start() throws IOException {
        fleet = new TestFleet(directory);
    }

    @AfterEach
    void stop() {
        fleet.close();
    }

    private static void requireOcloc() {
        boolean isFound = Ocloc.probe() instanceof Ocloc.Probe.Found;
        if (!isFound) {
            System.out.println("SKIPPED PopulateOfflineTest: ocloc, on Debian: " + INSTALL);
        }
        assumeTrue(isFound, "ocloc is not installed, on Debian: " + INSTALL);
    }

    private String manifest() throws IOException {
        Files.createDirectories(directory.resolve("include"));
        Files.writeString(directory.resolve("include/scale.h"), "#define SCALE(x) ((x) * F)\n");
        Files.writeString(
                directory.resolve("scale.cl"),
                "#include \"scale.h\"\nkernel void scale(global float* v) {"
                        + " v[get_global_id(0)] = SCALE(v[get_global_id(0)]); }\n");
        Files.writeString(directory.resolve("sum.cl"), """
                kernel void sum(global float* v, local float* t) {
                    int l = get_local_id(0);
                    t[l] = v[get_global_id(0)];
                    barrier(CLK_LOCAL_MEM_FENCE);
                    if (l == 0) {
                        v[get_group_id(0)] = t[0] + t[1];
                    }
                }
                """);
        return Files.writeString(directory.resolve("kernels.toml"), """
                [defaults]
                extra-digest = "the variables of a simulated device prevent caching otherwise"

                [[kernel]]
                name = "scale"
                source = "scale.cl"
                include = ["include"]
                options = "-D F=3.0f"
                entry = ["scale"]
                geometry = { global = [1024], local = [64] }

                [[kernel]]
                name = "sum"
                source = "sum.cl"
                options = "-cl-opt-disable"
                geometry = { global = [1024], local = [64] }
                """).toString();
    }

    /** Returns a manifest with the first kernel only: Intel's compilers take a second for each. */
    private String ofScale() throws IOException {
        Path both = Path.of(manifest());
        String text = Files.readString(both);
        String second = "[[kernel]]\nname = \"sum\"";
        return Files.writeString(both, text.substring(0, text.indexOf(second))).toString();
    }

    /** Returns a child JVM without any driver, and with the credentials of the bucket. */
    private ChildJvm withoutDriver(Class<?> main) throws IOException {
        Path none = Files.createDirectories(directory.resolve("no-vendors"));
        return ChildJvm.of(main)
                .shortLived()
                .flags(
                        "-Daws.accessKeyId=" + System.getProperty("aws.accessKeyId"),
                        "-Daws.secretAccessKey=" + System.getProperty("aws.secretAccessKey"))
                .directory(Files.createTempDirectory(directory, "process")) // drivers write files
                .withoutVariables("GRANARY_", "NEO", "IGC_", "POCL_")
                .variables(Map.of(
                        "OCL_ICD_VENDORS",
                        none.toString(),
                        "ZE_ENABLE_ALT_DRIVERS",
                        none.resolve("none.so").toString(),
                        "XDG_CONFIG_HOME",
                        none.toString(),
                        "GRANARY_BUCKET_WAIT",
                        "5m")); // a busy machine is no reason for a miss
    }

    /** Returns a child JVM with Intel's driver only, for the simulated device. */
    private ChildJvm onIntel(Class<?> main) throws IOException {
        Path vendors = Files.createDirectories(directory.resolve("vendors"));
        if (Files.notExists(vendors.resolve("intel.icd"))) {
            Files.copy(INTEL_ICD, vendors.resolve("intel.icd"));
        }
        return withoutDriver(main)
                .withoutVariables("ZE_ENABLE_ALT_DRIVERS")
                .variables(Map.of(
                        "OCL_ICD_VENDORS",
                        vendors.toString(),
                        "NEOReadDebugKeys",
                        "1",
                        "SetCommandStreamReceiver",
                        "1",
                        "ProductFamilyOverride",
                        "tgllp",
                        "NEO_CACHE_PERSISTENT",
                        "0"));
    }

    private String[] arguments(String command, String machine, String... more) {
        List<String> all = new ArrayList<>(List.of(
                command,
                "--dir",
                directory.resolve(machine).toString(),
                "--bucket",
                "s3://kernels/ci",
                "--endpoint",
                fleet.endpoint()));
        all.addAll(List.of(more));
        return all.toArray(String[]::new);
    }

    private static int summary(JsonObject result, String name) {
        return result.getAsJsonObject("summary").get(name).getAsInt();
    }

    @Test
    @DisplayName("entries that were populated without device and driver are hit by the device:"
            + " nothing is compiled there, by OpenCL or by Level Zero")
    void hitByDevice() throws Exception {
        requireOcloc();
        assumeTrue(Files.exists(INTEL_ICD), "Intel's driver, on Debian: " + INSTALL);
        String manifest = ofScale();
        JsonObject populated = Cli.of(withoutDriver(Main.class)
                        .run(arguments(
                                "populate", "ci", manifest, "--target", SIMULATED, "--json")))
                .exits(0)
                .json();
        assertEquals(2, summary(populated, "compiled"), populated::toString);
        // and an intermediate program
        assertEquals(3, populated.getAsJsonObject("published").get("readBack").getAsInt());
        TreeSet<String> targets = new TreeSet<>();
        for (JsonElement result : populated.getAsJsonArray("results")) {
            targets.add(result.getAsJsonObject().get("target").getAsString());
        }
        assertEquals(2, targets.size(), targets::toString);

        Cli node = Cli.of(onIntel(Main.class).run(arguments("get", "node", manifest, "--json")));
        JsonObject run = node.exits(0).json();
        assertEquals(0, summary(run, "compiled"), run::toString);
        assertEquals(1, summary(run, "bucket"), run::toString);
        assertEquals(
                0, run.getAsJsonObject("counters").get("restores-recompiled").getAsInt());
        assertEquals(
                targets.last(),
                run.getAsJsonArray("results")
                        .get(0)
                        .getAsJsonObject()
                        .get("target")
                        .getAsString());

        String levelZero = onIntel(OfflineNodeProgram.class)
                .variables(Map.of(
                        "GRANARY_DIR", directory.resolve("ze-node").toString(),
                        "GRANARY_BUCKET", "s3://kernels/ci",
                        "GRANARY_S3_ENDPOINT", fleet.endpoint()))
                .run(manifest)
                .output();
        assertTrue(levelZero.contains("target=" + targets.first()), levelZero);
        assertTrue(levelZero.contains("scale.source=BUCKET"), levelZero);
        assertTrue(levelZero.contains("scale.origin=RESTORED"), levelZero);

        // the same entries are found again without the device
        JsonObject again = Cli.run(
                        arguments("populate", "ci", manifest, "--target", SIMULATED, "--json"))
                .exits(0)
                .json();
        assertEquals(2, summary(again, "local"), again::toString);
        JsonObject other = Cli.run(arguments(
                        "populate", "other", manifest, "--target", targets.first(), "--json"))
                .exits(0)
                .json();
        assertEquals(1, summary(other, "bucket"), other::toString);
    }

    private static int counter(JsonObject result, String name) {
        return result.getAsJsonObject("counters").get(name).getAsInt();
    }

    private String[] populate(String machine, String manifest) {
        return arguments(
                "populate",
                machine,
                manifest,
                "--target",
                "level-zero/" + SIMULATED,
                "--target",
                "level-zero/0x4905",
                "--json");
    }

    @Test
    @Tag("exhaustive") // by default hitByDevice, and IntermediateProgramsTest without a compiler
    @DisplayName("populate publishes one intermediate program for several targets; a device that no"
            + " target names builds from it without a compiler to SPIR-V")
    void intermediate() throws Exception {
        requireOcloc();
        assumeTrue(Files.exists(INTEL_ICD), "Intel's driver, on Debian: " + INSTALL);
        String manifest = ofScale();
        JsonObject populated = Cli.run(populate("ci", manifest)).exits(0).json();
        assertEquals(2, summary(populated, "compiled"), populated::toString);
        assertEquals(1, counter(populated, "intermediate-compiled"));
        assertEquals(1, counter(populated, "intermediate-hits"));
        assertEquals(3, populated.getAsJsonObject("published").get("stored").getAsInt());
        assertEquals(3, populated.getAsJsonObject("published").get("readBack").getAsInt());

        Map<String, String> skylake = Map.of(
                "ProductFamilyOverride",
                "skl",
                "PATH",
                Files.createDirectories(directory.resolve("empty")).toString());
        JsonObject run = Cli.of(onIntel(Main.class)
                        .variables(skylake)
                        .run(arguments(
                                "get", "node", manifest, "--backend", "level-zero", "--json")))
                .exits(0)
                .json();
        assertEquals(1, summary(run, "compiled"), run::toString);
        assertEquals(1, counter(run, "intermediate-hits"));
        assertEquals(0, counter(run, "intermediate-compiled"));

        String namespace = IntermediateDescriptor.TARGET.path();
        JsonObject entry = Cli.run(
                        "ls",
                        "s3://kernels/ci",
                        "--endpoint",
                        fleet.endpoint(),
                        "--target",
                        namespace,
                        "--json")
                .exits(0)
                .json()
                .getAsJsonArray("entries")
                .get(0)
                .getAsJsonObject();
        String id = entry.get("id").getAsString();
        String node = directory.resolve("node").toString();
        Cli.run("inspect", id, "--dir", node)
                .exits(0)
                .prints(
                        "container  ",
                        "  SPIR-V 1.",
                        "front end  ",
                        "  ocloc 22.",
                        "compatible yes: SPIR-V 1.",
                        "  kind     intermediate");
        String copied = directory.resolve("copied").toString();
        Cli.run("verify", "--dir", node).exits(0);
        Cli.run("copy", node, copied).exits(0);
        Cli.run("inspect", id, "--dir", copied).exits(0).prints("front end  ", "  ocloc 22.");
        Cli.of(onIntel(Main.class)
                        .variables(skylake)
                        .run(arguments("warm", "warmed", "--backend", "level-zero")))
                .exits(0)
                .prints("for  " + namespace);
    }

    @Test
    @DisplayName("without the compiler, and for an unknown name, populate is wrong usage and"
            + " names the package, and the targets")
    void usage() throws Exception {
        String manifest = manifest();
        Cli.of(withoutDriver(Main.class)
                        .variables(Map.of("PATH", directory.toString()))
                        .run(arguments("populate", "ci", manifest, "--target", "tgllp")))
                .exits(2)
                .reports(
                        "--target needs a compiler: ocloc",
                        "apt-get install intel-opencl-icd (it has ocloc; intel-ocloc from");
        requireOcloc();
        Cli.run(arguments("populate", "ci", manifest, "--target", "abacus"))
                .exits(2)
                .reports("--target abacus: there is no target", "(skl, kbl,", "0x9a49");
        Cli.run(arguments("populate", "ci", manifest, "--target", "0x1"))
                .exits(2)
                .reports("--target 0x1: ocloc of the driver", "has no code for 0x1");
        assertTrue(Files.notExists(directory.resolve("ci")));
    }

    @Test
    @DisplayName("the compiler's errors are shown as those of a driver: with the user's file"
            + " and line, 20 lines at most; the other kernels are published")
    void errors() throws Exception {
        requireOcloc();
        String manifest = manifest();
        Files.writeString(
                directory.resolve("sum.cl"),
                "kernel void sum(global float* v) {\n" + "    undeclared = 1;\n".repeat(30)
                        + "}\n");
        Cli text = Cli.run(arguments(
                        "populate",
                        "ci",
                        manifest,
                        "--target",
                        "opencl/" + SIMULATED,
                        "--target",
                        "level-zero/" + SIMULATED))
                .exits(1)
                .prints(
                        "for opencl/intel_gpu-id-0xff20_",
                        "for level-zero/intel_gpu-id-0xff20_",
                        "4 kernels: 2 compiled, 2 failed-to-compile")
                .reports(
                        "FAILED sum for opencl/intel_gpu-id-0xff20_",
                        "FAILED sum for level-zero/intel_gpu-id-0xff20_",
                        directory.resolve("sum.cl") + ":2:5: error:",
                        " more lines; --verbose shows all")
                .isNarrow();
        assertFalse(text.err().contains("granary-ocloc"), text.err());
        // beside the build logs: each failure as it happens, since the output is no terminal
        assertEquals(
                List.of(
                        "granary: sum for opencl/intel_gpu-id-0xff20: failed-to-compile: sum does"
                                + " not compile",
                        "granary: sum for level-zero/intel_gpu-id-0xff20: failed-to-compile: sum"
                                + " does not compile"),
                text.err()
                        .lines()
                        .filter(line -> line.startsWith("granary: "))
                        .map(line -> line.replaceFirst("0xff20_[^:]+", "0xff20")) // the driver
                        .toList());
        assertTrue(
                text.err().lines().filter(line -> !line.isEmpty()).count()
                        <= 2 * (1 + 1 + BuildLog.MAX_LINES),
                text.err());
        Files.writeString(directory.resolve("sum.cl"), "kernel void other() {}\n");
        Files.writeString(
                directory.resolve("kernels.toml"),
                Files.readString(directory.resolve("kernels.toml"))
                        .replace("name = \"sum\"", "name = \"sum\"\nentry = [\"sum\"]"));
        Cli.run(arguments("populate", "ci", manifest, "--target", "opencl/" + SIMULATED))
                .exits(1)
                .reports("FAILED sum: sum has no kernel sum: its kernels are other");
    }

    @Test
    @DisplayName("a binary that is not for the target for certain is not published: no driver is"
            + " here to tell")
    void undetermined() throws Exception {
        Path programs = Files.createDirectories(directory.resolve("programs"));
        Path script = Files.writeString(programs.resolve("ocloc"), """
                #!/bin/sh
                if [ "$1" = query ]; then printf 22.43.1234.5 > "$2"; exit; fi
                while [ $# -gt 1 ]; do [ "$1" = -out_dir ] && out=$2; shift; done
                echo of no known container > "$out/program"
                """);
        assertTrue(script.toFile().setExecutable(true));
        Cli.of(withoutDriver(Main.class)
                        .variables(Map.of("PATH", programs + ":/usr/bin:/bin"))
                        .run(arguments("populate", "ci", manifest(), "--target", "opencl/0x9a49")))
                .exits(1)
                .prints("2 incompatible", "0 published")
                .reports("FAILED sum: it is not certain that the binary is for");
        assertEquals(List.of(), fleet.keys("/p/"));
    }

    @Test
    @Tag("exhaustive") // by default CompilerProcessesTest
    @DisplayName("a populate that is ended leaves no compiler running and no temporary file; one"
            + " that hangs costs its kernel only")
    void ended() throws Exception {
        Path programs = Files.createDirectories(directory.resolve("programs"));
        Path pid = directory.resolve("pid");
        Path script =
                Files.writeString(programs.resolve("ocloc"), """
                #!/bin/sh
                if [ "$1" = query ]; then printf 22.43.1234.5 > "$2"; exit; fi
                case "$*" in *-spv_only*) exit;; esac
                echo $$ > PID.new; mv PID.new PID; exec sleep 600
                """.replace("PID", pid.toString()));
        assertTrue(script.toFile().setExecutable(true));
        Path temporary = Files.createDirectories(directory.resolve("temporary"));
        ChildJvm jvm = withoutDriver(Main.class)
                .flags("-Djava.io.tmpdir=" + temporary)
                .variables(Map.of("PATH", programs + ":/usr/bin:/bin"));
        String manifest = manifest();
        Cli.of(jvm.run(arguments(
                        "populate",
                        "ci",
                        manifest,
                        "--target",
                        "opencl/0x9a49",
                        "--compile-limit",
                        "1")))
                .exits(1)
                .prints("2 timed-out")
                .reports("FAILED sum: the compiler did not end within 1 s (--compile-limit)");
        assertEquals(List.of(), names(temporary));
        Files.delete(pid);
        ChildJvm.Recording started = jvm.record(
                arguments("populate", "ci", manifest, "--target", "opencl/0x9a49", "--jobs", "1"));
        for (long start = System.nanoTime();
                Files.notExists(pid) && System.nanoTime() - start < LIMIT_NANOS; ) {
            Thread.sleep(20);
        }
        long compiler = Long.parseLong(Files.readString(pid).strip());
        started.process().destroy();
        started.end();
        assertFalse(ProcessHandle.of(compiler).map(ProcessHandle::isAlive).orElse(false));
        assertEquals(List.of(), names(temporary));
    }

    private static List<String> names(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> name.startsWith("granary-"))
                    .toList();
        }
    }

    @Test
    @DisplayName("A device and a declared target are populated by one command")
    void deviceAndTarget() throws Exception {
        requireOcloc();
        assumeTrue(!OpenCl.devices().isEmpty(), "no OpenCL device");
        JsonObject result = Cli.run(arguments(
                        "populate",
                        "ci",
                        ofScale(),
                        "--device",
                        "all",
                        "--target",
                        "opencl/" + SIMULATED,
                        "--json"))
                .exits(0)
                .json();
        assertTrue(summary(result, "compiled") >= 2, result::toString);
    }
}
