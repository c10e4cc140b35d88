package dev.granary.gpu.engine;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Backend;
import dev.granary.cache.CompileException;
import dev.granary.cache.Target;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.binary.SampleBinaries;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.lang.foreign.MemorySegment;
import java.util.List;

/** Tests of the versions of SPIR-V that a device takes. */
class SpirvSupportTest {
    private static final String NONE = "takes no SPIR-V, only OpenCL C: give this device sources";
    private static final int MINOR_VERSION_AT = 5;

    @ParameterizedTest
    @CsvSource({
        "vendor, SPIR-V_1.2, 0, ''",
        "vendor, SPIR-V_1.2, 2, ''",
        "vendor, SPIR-V_1.2, 3, 'up to 1.2, and this is SPIR-V 1.3'",
        "intel, SPIR-V_1.2, 4, ''",
        "intel, SPIR-V_1.2, 5, 'up to 1.4, and this is SPIR-V 1.5'",
        "intel, SPIR-V_1.6, 6, ''",
        "intel, '', 0, " + NONE,
        "vendor, SPIR-V_1.0 SPIR-V_1.10 SPIR-V_1.4, 10, ''",
        "vendor, SPIR-V_1.0 SPIR-V_1.10 SPIR-V_1.4, 11, 'up to 1.10, and this is SPIR-V 1.11'",
        "vendor, OTHER_1.5, 0, " + NONE,
        "vendor, SPIR-V_x, 0, " + NONE,
        "vendor, SPIR-V_1.12345678901, 0, " + NONE,
        "vendor, '', 0, " + NONE
    })
    @DisplayName("a device takes the versions up to its highest; others are refused with both")
    void versions(String vendor, String languages, int minor, String refusal) {
        byte[] module = SampleBinaries.bytes("saxpy.spv");
        module[MINOR_VERSION_AT] = (byte) minor;
        String found = new SpirvSupport(vendor, List.of(languages.split(" ")))
                .refusal(MemorySegment.ofArray(module))
                .orElse("");
        assertEquals(refusal.isEmpty(), found.isEmpty(), found);
        assertTrue(found.contains(refusal), found);
    }

    @ParameterizedTest
    @CsvSource({
        "SPIR-V_1.2, saxpy.spv, 4, true",
        "SPIR-V_1.2, saxpy.spv, 5, false",
        "'', saxpy.spv, 5, true",
        "SPIR-V_1.2, no module, 0, true"
    })
    @DisplayName("a module that another machine's front end has made of a source does not reach"
            + " a driver that ends the process on its version")
    void intermediate(String languages, String file, int minor, boolean isTaken) {
        byte[] module = file.endsWith(".spv") ? SampleBinaries.bytes(file) : new byte[100];
        module[MINOR_VERSION_AT] = (byte) minor;
        Target target = new Target(Backend.LEVEL_ZERO, "intel", "gpu", "1.3");
        KernelDescriptor source = KernelDescriptor.builder(target, "saxpy")
                .source("kernel void saxpy() {}")
                .build();
        SpirvSupport support = new SpirvSupport("intel", List.of(languages.split(" ")));
        Executable check = () -> support.check(source, MemorySegment.ofArray(module), "a GPU");
        if (isTaken) {
            assertDoesNotThrow(check);
        } else {
            CompileException refusal = assertThrows(CompileException.class, check);
            assertTrue(refusal.toString().contains("a GPU takes SPIR-V up to 1.4"));
        }
    }
}
