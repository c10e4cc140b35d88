package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.gpu.DriverProcess;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/**
 * Tests of the namespaces with binaries of Intel's OpenCL and Level Zero drivers, for a simulated
 * device. Each lookup is in a process of its own.
 */
class IntelNamespacesTest {
    private static final Path INTEL = Path.of("/etc/OpenCL/vendors/intel.icd");

    @TempDir
    static Path directory;

    private static TestFleet fleet;
    private static Path vendors; // only Intel's OpenCL: two in one process may clash

    @BeforeAll
    static void start() throws Exception {
        String reason = "Intel's drivers of OpenCL and Level Zero, on Debian: apt-get install"
                + " libze1 intel-opencl-icd";
        vendors = Files.createDirectory(directory.resolve("vendors"));
        fleet = new TestFleet(directory.resolve("fleet"));
        boolean isInstalled = Files.exists(INTEL);
        if (isInstalled) {
            Files.copy(INTEL, vendors.resolve("intel.icd"));
            isInstalled = !output("probe", "level-zero", false, Map.of()).contains("missing=");
        }
        assumeTrue(isInstalled, reason);
    }

    @AfterAll
    static void stop() {
        fleet.close();
    }

    /** Runs a lookup on a machine and returns its output. */
    private static String output(
            String machine, String backend, boolean isInPacks, Map<String, String> bucket)
            throws IOException, InterruptedException {
        return output(machine, backend, isInPacks, NamespaceProcess.Program.SOURCE, bucket);
    }

    private static String output(
            String machine,
            String backend,
            boolean isInPacks,
            NamespaceProcess.Program program,
            Map<String, String> bucket)
            throws IOException, InterruptedException {
        Map<String, String> variables = new HashMap<>(bucket);
        variables.putAll(Map.of(
                "XDG_CONFIG_HOME", "/nonexistent",
                "GRANARY_DIR", directory.resolve(machine).toString(),
                "GRANARY_BUCKET_WAIT", "1m",
                "OCL_ICD_VENDORS", vendors.toString(),
                "NEOReadDebugKeys", "1",
                "SetCommandStreamReceiver", "1",
                "ProductFamilyOverride", "tgllp",
                "NEO_CACHE_PERSISTENT", "0"));
        return DriverProcess.of(
                        NamespaceProcess.class, Files.createTempDirectory(directory, "process"))
                .withoutVariables("GRANARY_", "AWS_")
                .variables(variables)
                .run(backend, "" + isInPacks, program.name())
                .output();
    }

    private static Map<String, String> bucket(String prefix) {
        return Map.of(
                "GRANARY_BUCKET", "s3://kernels/" + prefix,
                "GRANARY_S3_ENDPOINT", fleet.endpoint(),
                "AWS_ACCESS_KEY_ID", fleet.server.accessKey(),
                "AWS_SECRET_ACCESS_KEY", fleet.server.secretKey(),
                "AWS_REGION", "us-east-1");
    }

    /** Looks up on a machine, in a process of its own. */
    private static String lookup(String machine, String backend, Map<String, String> bucket)
            throws Exception {
        return output(machine, backend, false, bucket);
    }

    /** Looks the module of SPIR-V up on a machine, in a process of its own. */
    private static String lookupModule(String machine, String backend, String prefix)
            throws Exception {
        return output(machine, backend, false, NamespaceProcess.Program.MODULE, bucket(prefix));
    }

    private static String source(String output) {
        return DriverProcess.value(output, "source");
    }

    private static String target(String output) {
        return DriverProcess.value(output, "target");
    }

    @Test
    @DisplayName(
            "real binaries in the local tier: Level Zero restores OpenCL's and stores its" + " own")
    void local() throws Exception {
        String compiled = lookup("local", "opencl", Map.of());
        assertEquals("COMPILED", source(compiled));
        String crossed = lookup("local", "level-zero", Map.of());
        assertEquals("LOCAL from " + target(compiled), source(crossed));
        assertEquals("RESTORED", DriverProcess.value(crossed, "origin"));
        assertEquals("1", DriverProcess.value(crossed, "cross"));
        assertEquals("[scale]", DriverProcess.value(crossed, "kernels"));
        String again = lookup("local", "level-zero", Map.of());
        assertEquals("LOCAL", source(again));
        assertEquals("RESTORED", DriverProcess.value(again, "origin"));
        assertEquals(DriverProcess.value(crossed, "bytes"), DriverProcess.value(again, "bytes"));
        assertNotEquals(target(compiled), target(again));
        System.out.println("cross-namespace: " + target(again) + " reads " + target(compiled)
                + ", OpenCL's binary " + DriverProcess.value(compiled, "bytes")
                + " bytes, Level Zero's of it " + DriverProcess.value(crossed, "bytes")
                + "; lookups of new processes: OpenCL compiled in "
                + DriverProcess.value(compiled, "micros") + " us, cross-namespace hit "
                + DriverProcess.value(crossed, "micros") + " us, own hit "
                + DriverProcess.value(again, "micros") + " us");
    }

    @Test
    @Tag("exhaustive") // by default CrossNamespaceTest
    @DisplayName("real binaries in the local tier and in a bucket: OpenCL never restores Level"
            + " Zero's")
    void never() throws Exception {
        String compiled = lookup("never", "level-zero", bucket("never"));
        assertEquals("COMPILED", source(compiled));
        System.out.println(
                "Level Zero compiled in " + DriverProcess.value(compiled, "micros") + " us");
        assertEquals("COMPILED", source(lookup("never", "opencl", bucket("never"))));
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("real binaries in a bucket: Level Zero restores OpenCL's unpacked entry, and"
            + " publishes its own for other machines")
    void unpacked() throws Exception {
        String compiled = lookup("ci", "opencl", bucket("unpacked"));
        assertEquals("COMPILED", source(compiled));
        assertEquals(
                "BUCKET from " + target(compiled),
                source(lookup("node", "level-zero", bucket("unpacked"))));
        assertEquals("BUCKET", source(lookup("other", "level-zero", bucket("unpacked"))));
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("real binaries in a pack, read from the bucket and from a warmed directory")
    void packedAndWarmed() throws Exception {
        String compiled = output("packing", "opencl", true, bucket("packed"));
        assertEquals("COMPILED", source(compiled));
        Map<String, String> readOnly = new HashMap<>(bucket("packed"));
        readOnly.put("GRANARY_BUCKET", "s3://kernels/packed?access=read");
        String expected = "from " + target(compiled);
        assertEquals("BUCKET " + expected, source(lookup("reader", "level-zero", readOnly)));
        GranaryConfig config =
                fleet.config("warmed", "s3://kernels/packed?access=read").build();
        assertEquals(1, TestFleet.install(config, target(compiled)));
        assertTrue(Files.isDirectory(config.directory()));
        assertEquals(
                "LOCAL " + expected,
                source(output(
                        directory.relativize(config.directory()).toString(),
                        "level-zero",
                        false,
                        Map.of())));
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("a module of SPIR-V is compiled by OpenCL once, and another machine restores"
            + " its binary")
    void moduleByOpenCl() throws Exception {
        String compiled = lookupModule("module", "opencl", "module");
        assertTrue(DriverProcess.value(compiled, "languages").contains("SPIR-V_1."), compiled);
        assertEquals("COMPILED", source(compiled));
        assertEquals("[saxpy]", DriverProcess.value(compiled, "kernels"));
        String restored = lookupModule("module-node", "opencl", "module");
        assertEquals("BUCKET", source(restored));
        assertEquals("RESTORED", DriverProcess.value(restored, "origin"));
        assertEquals("[saxpy]", DriverProcess.value(restored, "kernels"));
        System.out.println("a module of SPIR-V by OpenCL: compiled in "
                + DriverProcess.value(compiled, "micros") + " us, from a bucket in "
                + DriverProcess.value(restored, "micros") + " us");
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("a module of SPIR-V is compiled by Level Zero without a front end, and"
            + " OpenCL's binary of it is restored")
    void moduleByLevelZero() throws Exception {
        String compiled = lookupModule("module-zero", "level-zero", "module-zero");
        assertEquals("COMPILED", source(compiled));
        assertEquals("0", DriverProcess.value(compiled, "intermediate"));
        assertEquals("LOCAL", source(lookupModule("module-zero", "level-zero", "module-zero")));
        String byOpenCl = lookupModule("module-cl", "opencl", "module-crossed");
        assertEquals("COMPILED", source(byOpenCl));
        String crossed = lookupModule("module-crossing", "level-zero", "module-crossed");
        assertEquals("BUCKET from " + target(byOpenCl), source(crossed));
        assertEquals("[saxpy]", DriverProcess.value(crossed, "kernels"));
    }
}
