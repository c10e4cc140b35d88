package dev.granary.gpu.offline;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.granary.cache.Backend;
import dev.granary.cache.CompileException;
import dev.granary.cache.Target;
import dev.granary.gpu.DriverProcess;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.binary.DeviceKernels;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility;
import dev.granary.gpu.binary.compatibility.CompatibilityChecker;
import dev.granary.gpu.tool.SpirvTool;
import dev.granary.gpu.tool.ToolRun;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Tests of {@code ocloc} against Intel's driver, which compiles for a simulated device. */
class OclocTest {
    private static final String INSTALL = "apt-get install intel-opencl-icd libze1";
    private static final Duration LIMIT = Duration.ofMinutes(5);

    @TempDir
    Path directory;

    @TempDir
    Path temporary;

    private Ocloc ocloc() throws IOException {
        return ocloc(SpirvTool.PATH);
    }

    private Ocloc ocloc(String path) throws IOException {
        Ocloc.Probe probe = Ocloc.probe(path, temporary);
        if (!(probe instanceof Ocloc.Probe.Found)) {
            System.out.println("SKIPPED OclocTest: ocloc is not installed, on Debian: " + INSTALL);
        }
        assumeTrue(probe instanceof Ocloc.Probe.Found, probe + ", on Debian: " + INSTALL);
        return ((Ocloc.Probe.Found) probe).ocloc();
    }

    /** Compiles the samples on the driver, and returns the path of the device's target. */
    private String compileOnDriver(Backend backend, Map<String, String> device) throws Exception {
        Map<String, String> variables = new HashMap<>(device);
        variables.putAll(Map.of(
                "NEOReadDebugKeys",
                "1",
                "SetCommandStreamReceiver",
                "1",
                "NEO_CACHE_PERSISTENT",
                "0"));
        String output = DriverProcess.of(DriverBinariesProgram.class, directory)
                .variables(variables)
                .run(backend.path(), directory.toString())
                .output();
        assumeFalse(output.contains("missing="), output + " on Debian: " + INSTALL);
        return DriverProcess.value(output, "target");
    }

    private void assertSameAsDriver(Backend backend, Map<String, String> device) throws Exception {
        Ocloc ocloc = ocloc();
        String path = compileOnDriver(backend, device);
        List<Target> targets = ocloc.targets(path);
        assertEquals(1, targets.size());
        assertEquals(path, targets.getFirst().path());
        for (KernelDescriptor sample : OfflineSamples.of(targets.getFirst()).values()) {
            byte[] offline = ocloc.compile(sample, LIMIT);
            byte[] driver = Files.readAllBytes(directory.resolve(sample.name()));
            boolean isOpenCl = backend.equals(Backend.OPENCL);
            if (isOpenCl && sample.name().equals(OfflineSamples.WITH_HEADERS)) {
                // the build options, with the directory of the headers, are before the code
                assertArrayEquals(code(driver), code(offline), sample::toString);
            } else if (isOpenCl && sample.name().equals(OfflineSamples.UNOPTIMIZED)) {
                assertEquals(
                        DeviceKernels.of(MemorySegment.ofArray(driver)),
                        DeviceKernels.of(MemorySegment.ofArray(offline)));
            } else {
                assertArrayEquals(driver, offline, sample::toString);
            }
            assertInstanceOf(
                    BinaryCompatibility.Compatible.class,
                    CompatibilityChecker.check(targets.getFirst(), MemorySegment.ofArray(offline)));
        }
    }

    private static byte[] code(byte[] binary) {
        int start = new String(binary, ISO_8859_1).indexOf("CTNI");
        assertTrue(start > 0, "patch tokens");
        return Arrays.copyOfRange(binary, start, binary.length);
    }

    @Tag("exhaustive")
    @ParameterizedTest
    @FieldSource("dev.granary.cache.Backend#OWN")
    @DisplayName("a binary of ocloc is that of Intel's driver on the device, byte for byte, and"
            + " its target that of the device")
    void sameAsDriver(Backend backend) throws Exception {
        assertSameAsDriver(backend, Map.of("ProductFamilyOverride", "tgllp"));
        assertTemporaryIsEmpty();
    }

    @ParameterizedTest
    @FieldSource("dev.granary.cache.Backend#OWN")
    @Tag("exhaustive")
    @DisplayName("the same for devices of other families, and for another id of one family")
    void otherDevices(Backend backend) throws Exception {
        Map<String, String> devices = Map.of(
                "skl", "0x1912", "icllp", "0x8a52", "tgllp", "0x9a49", "rkl", "0x4c8a", "adls",
                "0x4680", "dg1", "0x4905");
        for (Map.Entry<String, String> device : devices.entrySet()) {
            assertSameAsDriver(
                    backend,
                    Map.of(
                            "ProductFamilyOverride",
                            device.getKey(),
                            "ForceDeviceId",
                            device.getValue()));
        }
    }

    @ParameterizedTest
    @FieldSource("dev.granary.cache.Backend#OWN")
    @DisplayName("the kernels of a binary are those of the source")
    void kernels(Backend backend) throws Exception {
        Ocloc ocloc = ocloc();
        Target target = ocloc.targets(backend.path() + "/0xff20").getFirst();
        MemorySegment binary = MemorySegment.ofArray(
                ocloc.compile(OfflineSamples.of(target).values().iterator().next(), LIMIT));
        assertEquals("[halves, sums]", DeviceKernels.of(binary).orElseThrow().toString());
    }

    @Test
    @DisplayName("a family is all its devices that the compiler has code for, in each backend")
    void families() throws Exception {
        Ocloc ocloc = ocloc();
        List<Target> all = ocloc.targets("dg1");
        assertTrue(all.size() >= 2 && all.size() % 2 == 0, all::toString);
        assertEquals(all.size() / 2, ocloc.targets("opencl/dg1").size());
        assertTrue(all.containsAll(ocloc.targets("level-zero/0x4905")));
        assertTemporaryIsEmpty();
    }

    @ParameterizedTest
    @FieldSource("dev.granary.cache.Backend#OWN")
    @DisplayName("a program that does not compile fails with file, line and message")
    void error(Backend backend) throws Exception {
        Ocloc ocloc = ocloc();
        Target target = ocloc.targets(backend.path() + "/0xff20").getFirst();
        KernelDescriptor broken = KernelDescriptor.builder(target, "broken")
                .source("kernel void broken() {\n    undeclared = 1;\n}\n")
                .build();
        CompileException failure =
                assertThrows(CompileException.class, () -> ocloc.compile(broken, LIMIT));
        assertTrue(
                failure.buildLog().lines().anyMatch(line -> line.contains(":2:5: error:")),
                failure::buildLog);
        assertTemporaryIsEmpty();
    }

    @Test
    @DisplayName("a source that ocloc would read in part is refused")
    void partOfSource() throws Exception {
        Ocloc ocloc = ocloc();
        KernelDescriptor descriptor = KernelDescriptor.builder(
                        ocloc.targets("opencl/0xff20").getFirst(), "part")
                .source("kernel void a() {}\n// R\"===(\nkernel void b() {}\n// )===\"\n")
                .build();
        CompileException failure =
                assertThrows(CompileException.class, () -> ocloc.compile(descriptor, LIMIT));
        assertTrue(
                String.valueOf(failure.getMessage()).contains("does not compile offline"),
                failure::getMessage);
    }

    @Test
    @DisplayName("A compiler that hangs is killed at the limit; one of another version is refused")
    void slow() throws Exception {
        Path script = Files.writeString(directory.resolve("ocloc"), """
                #!/bin/sh
                if [ "$1" = query ]; then printf '22.43.1234.5\\000' > "$2"; exit; fi
                case "$*" in *program.cl*-spv_only*) ;; *) exec sleep 100;; esac
                """);
        assertTrue(script.toFile().setExecutable(true));
        Ocloc slow = ocloc(directory.toString());
        Target target = slow.targets("opencl/0x9a49").getFirst();
        assertEquals(new Target(Backend.OPENCL, "intel", "GPU id 0x9a49", "22.43.1234.5"), target);
        assertEquals("1.3.1234", slow.targets("level-zero/0x9a49").getFirst().driver());
        assertThrows(
                ToolRun.OverdueException.class,
                () -> slow.compile(descriptor(target), Duration.ofMillis(100)));
        Target other = new Target(Backend.OPENCL, "intel", "GPU id 0x9a49", "22.43.1234.6");
        assertThrows(IllegalArgumentException.class, () -> slow.compile(descriptor(other), LIMIT));
        assertTemporaryIsEmpty();
    }

    private static KernelDescriptor descriptor(Target target) {
        return KernelDescriptor.builder(target, "k")
                .source("kernel void k() {}")
                .build();
    }

    @Test
    @DisplayName("without the compiler, and with one that does not work, the cause and the"
            + " package are named")
    void missing() throws Exception {
        Ocloc.Probe.Missing none = assertInstanceOf(
                Ocloc.Probe.Missing.class, Ocloc.probe(directory.toString(), temporary));
        assertTrue(none.cause().contains("apt-get install intel-opencl-icd"), none::cause);
        Path script = Files.writeString(directory.resolve("ocloc"), "#!/bin/sh\necho no version\n");
        assertTrue(script.toFile().setExecutable(true));
        Ocloc.Probe.Missing mute = assertInstanceOf(
                Ocloc.Probe.Missing.class, Ocloc.probe(directory.toString(), temporary));
        assertTrue(mute.cause().contains("but 'no version'"), mute::cause);
        assertTemporaryIsEmpty();
    }

    private void assertTemporaryIsEmpty() throws IOException {
        try (Stream<Path> files = Files.list(temporary)) {
            assertEquals(List.of(), files.toList());
        }
    }
}
