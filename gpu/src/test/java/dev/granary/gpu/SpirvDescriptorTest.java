package dev.granary.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.gpu.binary.BinaryContainer;
import dev.granary.gpu.binary.SampleBinaries;
import dev.granary.gpu.device.DriverTraits;
import dev.granary.gpu.spirv.SpirvCompiler;
import dev.granary.gpu.spirv.SpirvModules;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;

/** Tests of descriptors that have SPIR-V in place of sources. */
class SpirvDescriptorTest {
    private static final byte[] MODULE = SampleBinaries.bytes("saxpy.spv");
    private static final Target INTEL = new Target(Backend.OPENCL, "intel", "device", "driver");

    private static final int ENTRY_POINT = 15; // an opcode
    private static final int SHADER = 5; // the execution model GLCompute

    private static KernelDescriptor.Builder builder(Target target) {
        return KernelDescriptor.builder(target, "name").environment(Map.of());
    }

    private static KernelDescriptor with(UnaryOperator<KernelDescriptor.Builder> change) {
        return change.apply(builder(INTEL).spirv(MODULE)).build();
    }

    private static String refusal(UnaryOperator<KernelDescriptor.Builder> change) {
        return String.valueOf(
                assertThrows(IllegalArgumentException.class, () -> with(change)).getMessage());
    }

    @Test
    @DisplayName("module, options, digest, tag and launches of lazy drivers enter the id; no"
            + " id of a source is equal")
    void fields() {
        Target lazy = new Target(Backend.OPENCL, DriverTraits.POCL, "device", "driver");
        Geometry geometry = Geometry.of(64);
        List<KernelDescriptor> all = List.of(
                with(b -> b),
                with(b -> b.spirv(SpirvModules.ofOtherKernel(MODULE))),
                with(b -> b.options("-cl-opt-disable")),
                with(b -> b.extraDigest("x")),
                with(b -> b.tag("x")),
                builder(lazy).spirv(MODULE).build(),
                builder(lazy).spirv(MODULE).launch(geometry).build(),
                builder(INTEL).source("kernel void saxpy() {}").build(),
                builder(INTEL).source(new String(MODULE, UTF_8)).build());
        Set<String> ids = new HashSet<>();
        for (KernelDescriptor one : all) {
            assertFalse(one.getId().isEmpty(), one.getId()::reason);
            assertTrue(ids.add(one.getId().hash().hex()), one::readableKey);
            for (KernelDescriptor other : all) {
                assertEquals(one == other, one.equals(other), one + " and " + other);
            }
        }
        KernelDescriptor same =
                with(b -> b.entry("saxpy").launch(geometry).options("").spirv(MODULE.clone()));
        assertEquals(with(b -> b).getId(), same.getId());
        assertEquals(with(b -> b), with(b -> b.launch(geometry)));
        assertEquals(with(b -> b).hashCode(), with(b -> b).hashCode());
    }

    @Test
    @DisplayName("the id of a module is what it was in every version, and its length does"
            + " not grow with the module")
    void golden() {
        assertEquals(
                "173c2a0fa6987cd5dc33adc5cce7eb3cff7d41f4bd101629959edc66da5ca04c",
                with(b -> b.options("-cl-mad-enable").entry("saxpy"))
                        .getId()
                        .hash()
                        .hex());
        assertEquals(
                "f07994d5843bc5f2642ddb2c23606ccaee72658dbfea58b052e1251c6f0bd505",
                builder(INTEL)
                        .source("kernel void k() {}")
                        .build()
                        .getId()
                        .hash()
                        .hex());
        assertTrue(with(b -> b).getId().length() < 300);
    }

    @Test
    @DisplayName("a descriptor has a copy of its module, which is read-only")
    void copied() {
        byte[] given = MODULE.clone();
        KernelDescriptor descriptor = builder(INTEL).spirv(given).build();
        Arrays.fill(given, (byte) 0);
        assertEquals(with(b -> b), descriptor);
        var own = descriptor.spirv().orElseThrow();
        assertEquals(-1, own.mismatch(MemorySegment.ofArray(MODULE)));
        assertTrue(own.isReadOnly());
        assertThrows(
                IllegalArgumentException.class, () -> own.set(ValueLayout.JAVA_BYTE, 0, (byte) 0));
        assertEquals(List.of(), descriptor.sources());
        assertTrue(descriptor.readableKey().contains(MODULE.length + " bytes of SPIR-V"));
    }

    @Test
    @DisplayName("a module of big-endian words is recognized, and refused by its byte order")
    void bigEndian() {
        byte[] swapped = new byte[MODULE.length];
        for (int i = 0; i < swapped.length; i++) {
            swapped[i] = MODULE[i ^ 3];
        }
        for (int length : new int[] {4, 20, swapped.length}) {
            byte[] module = Arrays.copyOf(swapped, length);
            assertEquals(
                    "The SPIR-V of the kernel name is big-endian: store its words in little-endian"
                            + " order",
                    refusal(b -> b.spirv(module)));
            assertEquals(
                    new BinaryContainer.Malformed("SPIR-V", "its words are big-endian"),
                    BinaryContainer.read(MemorySegment.ofArray(module)));
        }
    }

    @Test
    @DisplayName("a truncated or extended module, other bytes and shaders are refused")
    void unsound() {
        for (int length = 0; length < MODULE.length; length += 3) {
            int end = length;
            String message = refusal(b -> b.spirv(Arrays.copyOf(MODULE, end)));
            assertTrue(message.startsWith("The SPIR-V of the kernel name is damaged: "), message);
        }
        assertTrue(refusal(b -> b.spirv(Arrays.copyOf(MODULE, MODULE.length + 4)))
                .contains("is damaged"));
        assertTrue(refusal(b -> b.spirv("kernel void k() {}".getBytes(UTF_8)))
                .endsWith("it is no SPIR-V"));
        assertEquals(
                "The SPIR-V of the kernel name has no kernel: its entry points are those of"
                        + " shaders",
                refusal(b -> b.spirv(SpirvModules.withWord(MODULE, ENTRY_POINT, 1, SHADER))));
    }

    @ParameterizedTest
    @ValueSource(strings = {"-DX=1", "-D X", "-I dir", "-Idir", "-U X", "-include x.h"})
    @DisplayName("options of a preprocessor, which would have no effect, are refused")
    void preprocessor(String options) {
        String message = refusal(b -> b.options("-cl-mad-enable " + options));
        assertTrue(
                message.contains("no preprocessor runs: remove the option "
                        + options.replace("-D ", "-D")
                                .replace("-I ", "-I")
                                .replace("-U ", "-U")
                                .replace("-include ", "-include")),
                message);
    }

    @Test
    @DisplayName("sources, headers and include directories beside a module are refused")
    void beside() {
        List<UnaryOperator<KernelDescriptor.Builder>> texts = List.of(
                b -> b.source("kernel void k() {}"),
                b -> b.header("x.h", ""),
                b -> b.includeDirectory("x"),
                KernelDescriptor.Builder::everyFileListed);
        for (UnaryOperator<KernelDescriptor.Builder> text : texts) {
            assertTrue(refusal(text).contains("sources, headers or include directories"));
        }
    }

    @Test
    @DisplayName("all options of a module are for the driver; of a source those of Level Zero")
    void options() {
        String options = "-ze-opt-disable -cl-mad-enable";
        assertEquals(
                List.of("-ze-opt-disable", "-cl-mad-enable"),
                SpirvCompiler.driverOptions(with(b -> b.options(options))));
        assertEquals(
                List.of("-ze-opt-disable"),
                SpirvCompiler.driverOptions(
                        builder(INTEL).source("x").options(options).build()));
    }

    @Test
    @DisplayName("a module is cacheable beside every file of the working directory; an"
            + " environment that the key cannot cover prevents it")
    void cacheable() {
        assertFalse(with(b -> b).getId().isEmpty());
        UnaryOperator<KernelDescriptor.Builder> debug =
                b -> b.environment(Map.of("NEOReadDebugKeys", "1"));
        assertTrue(with(debug).getId().isEmpty());
        assertFalse(with(b -> debug.apply(b).extraDigest("x")).getId().isEmpty());
        assertNotEquals(
                with(b -> b).getId(),
                with(b -> b.environment(Map.of("IGC_ShaderDumpEnable", "1"))).getId());
    }
}
