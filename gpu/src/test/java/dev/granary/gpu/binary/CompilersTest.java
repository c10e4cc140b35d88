package dev.granary.gpu.binary;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.granary.gpu.DriverProcess;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility.Compatible;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility.Incompatible;
import dev.granary.gpu.binary.compatibility.CompatibilityChecker;
import dev.granary.gpu.opencl.NeedsPocl;
import dev.granary.testing.SystemTool;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.stream.Stream;

/** Tests of containers that the compilers of this machine write now. */
class CompilersTest {
    private static final String OCLOC = "ocloc is not installed, on Debian: apt-get install"
            + " intel-opencl-icd (or intel-ocloc)";
    private static final String NVCC =
            "nvcc is not installed, on Debian: apt-get install" + " nvidia-cuda-toolkit";

    /** A device of each product family, as {@code ocloc} names it, with its PCI device id. */
    private static final Map<String, String> INTEL_DEVICES = new TreeMap<>(Map.ofEntries(
            Map.entry("skl", "0x1912"),
            Map.entry("kbl", "0x5912"),
            Map.entry("cfl", "0x3e92"),
            Map.entry("bxt", "0x5a84"),
            Map.entry("glk", "0x3184"),
            Map.entry("icllp", "0x8a52"),
            Map.entry("lkf", "0x9840"),
            Map.entry("ehl", "0x4571"),
            Map.entry("tgllp", "0x9a49"),
            Map.entry("rkl", "0x4c8a"),
            Map.entry("adls", "0x4680"),
            Map.entry("adlp", "0x46a6"),
            Map.entry("adln", "0x46d1"),
            Map.entry("dg1", "0x4905"),
            Map.entry("dg2", "0x56a0"),
            Map.entry("pvc", "0x0bd5")));

    @TempDir
    Path directory;

    private Path source = Path.of("");

    @BeforeEach
    void writeSource() throws IOException {
        source = Files.write(directory.resolve("saxpy.cl"), SampleBinaries.bytes("saxpy.cl"));
    }

    @Test
    @NeedsPocl
    @Tag("exhaustive") // by default CompatibilityCheckerTest
    @DisplayName("PoCL's binary is compatible with its device; that of another device is"
            + " incompatible, as its driver says")
    void pocl() throws Exception {
        Path binary = directory.resolve("binary");
        String first = check("pthread", Map.of(), binary);
        assertEquals("Pocl", DriverProcess.value(first, "format"));
        assertTrue(DriverProcess.value(first, "own").startsWith("Compatible"), first);
        String second = check("basic", Map.of(), binary);
        assertTrue(DriverProcess.value(second, "own").startsWith("Compatible"), second);
        assertTrue(DriverProcess.value(second, "other").startsWith("Incompatible"), second);
        assertEquals("REFUSED", DriverProcess.value(second, "driver"));

        byte[] whole = Files.readAllBytes(binary);
        SplittableRandom random = TestSeed.random("truncated");
        for (int i = 0; i < 300; i++) {
            int length = random.nextInt(8, whole.length);
            assertInstanceOf(
                    BinaryContainer.Malformed.class,
                    SampleBinaries.container(Arrays.copyOf(whole, length)),
                    length + " of " + whole.length + " bytes");
        }
    }

    @Test
    @NeedsPocl
    @Tag("exhaustive")
    @DisplayName("of PoCL's binaries for seven processors, each is compatible with the"
            + " device that made it only, as the driver says")
    void poclProcessors() throws Exception {
        List<String> libraries =
                List.of("sse2", "ssse3", "sse41", "avx", "avx_f16c", "avx2", "avx512");
        for (String library : libraries) {
            Path binary = directory.resolve(library);
            check("pthread", Map.of("POCL_KERNELLIB_NAME", library), binary);
            for (String other : libraries) {
                String output = check("pthread", Map.of("POCL_KERNELLIB_NAME", other), binary);
                boolean isOwn = DriverProcess.value(output, "driver").equals("RESTORED");
                assertEquals(
                        isOwn ? "Compatible" : "Incompatible",
                        DriverProcess.value(output, "other").replaceFirst("\\[.*", ""),
                        library + " on " + other + ": " + output);
                assertTrue(isOwn || !other.equals(library), output);
            }
        }
    }

    private String check(String device, Map<String, String> variables, Path binary)
            throws Exception {
        return DriverProcess.of(BinaryCheckProgram.class, directory)
                .variables(Map.of("POCL_DEVICES", device))
                .variables(variables)
                .run(binary.toString(), "Portable Computing Language")
                .output();
    }

    @Test
    @DisplayName("binaries of ocloc are compatible with their device, and zebins with no other")
    void ocloc() throws Exception {
        assumeTrue(SystemTool.run("ocloc", "--help"), OCLOC);
        checkOcloc(List.of("tgllp", "dg1"));
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("binaries of ocloc for all product families are compatible with their own")
    void oclocForAll() throws Exception {
        assumeTrue(SystemTool.run("ocloc", "--help"), OCLOC);
        checkOcloc(List.copyOf(INTEL_DEVICES.keySet()));
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("a binary of ocloc is the binary of Intel's driver on a simulated device,"
            + " byte for byte, and compatible with its target")
    void oclocAndDriver() throws Exception {
        assumeTrue(SystemTool.run("ocloc", "--help"), OCLOC);
        for (String device : List.of("tgllp", "dg1", "skl")) {
            Path binary = directory.resolve("driver-" + device);
            String output = DriverProcess.of(BinaryCheckProgram.class, directory)
                    .variables(Map.of(
                            "NEO_CACHE_PERSISTENT", "0",
                            "NEOReadDebugKeys", "1",
                            "SetCommandStreamReceiver", "1",
                            "ProductFamilyOverride", device))
                    .run(binary.toString(), "Intel(R) OpenCL")
                    .output();
            assumeFalse(
                    DriverProcess.value(output, "device").equals("none"),
                    "Intel's driver is not installed, on Debian: apt-get install intel-opencl-icd");
            assertTrue(DriverProcess.value(output, "own").startsWith("Compatible"), output);
            assertEquals(
                    -1,
                    MemorySegment.ofArray(Files.readAllBytes(binary))
                            .mismatch(compile(device, "patchtokens")),
                    device);
        }
    }

    private void checkOcloc(List<String> devices) throws Exception {
        for (String device : devices) {
            MemorySegment tokens = compile(device, "patchtokens");
            assertInstanceOf(
                    Compatible.class, check(device, tokens), device + " with patch tokens");
            MemorySegment zebin = compile(device, "zebin");
            assertInstanceOf(
                    BinaryContainer.Zebin.class, BinaryContainer.read(zebin), device + " zebin");
            for (String other : devices) {
                assertEquals(
                        other.equals(device) ? Compatible.class : Incompatible.class,
                        check(other, zebin).getClass(),
                        "the zebin of " + device + " on " + other);
            }
        }
    }

    private static BinaryCompatibility check(String device, MemorySegment binary) {
        return CompatibilityChecker.check(
                SampleBinaries.intel(String.valueOf(INTEL_DEVICES.get(device))), binary);
    }

    private MemorySegment compile(String device, String format) throws Exception {
        Path out = directory.resolve(device + "-" + format);
        assertTrue(
                SystemTool.run(
                        "ocloc",
                        "compile",
                        "-file",
                        source.toString(),
                        "-device",
                        device,
                        "--format",
                        format,
                        "-out_dir",
                        out.toString()),
                "ocloc for " + device);
        try (Stream<Path> files = Files.list(out)) {
            Path binary = files.filter(file -> file.toString().endsWith(".bin"))
                    .findFirst()
                    .orElseThrow();
            return MemorySegment.ofArray(Files.readAllBytes(binary));
        }
    }

    @Test
    @DisplayName("a cubin of nvcc is compatible with its architecture")
    void nvcc() throws Exception {
        assumeTrue(SystemTool.run("nvcc", "--version"), NVCC);
        checkNvcc("8.0");
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("cubins of nvcc for six architectures are compatible with their own")
    void nvccForAll() throws Exception {
        assumeTrue(SystemTool.run("nvcc", "--version"), NVCC);
        for (String capability : List.of("7.5", "8.6", "8.9", "9.0", "10.0", "12.0")) {
            checkNvcc(capability);
        }
    }

    private void checkNvcc(String capability) throws Exception {
        Path cuda = Files.write(directory.resolve("saxpy.cu"), SampleBinaries.bytes("saxpy.cu"));
        Path cubin = directory.resolve(capability + ".cubin");
        assertTrue(
                SystemTool.run(
                        "nvcc",
                        "-cubin",
                        "-arch=sm_" + capability.replace(".", ""),
                        cuda.toString(),
                        "-o",
                        cubin.toString()),
                "nvcc for " + capability);
        MemorySegment binary = MemorySegment.ofArray(Files.readAllBytes(cubin));
        assertInstanceOf(
                Compatible.class,
                CompatibilityChecker.check(SampleBinaries.nvidia(capability), binary));
        assertInstanceOf(
                Incompatible.class,
                CompatibilityChecker.check(SampleBinaries.nvidia("5.2"), binary));
    }
}
