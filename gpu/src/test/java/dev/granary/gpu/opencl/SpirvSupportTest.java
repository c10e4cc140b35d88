package dev.granary.gpu.opencl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.gpu.binary.SampleBinaries;

import org.junit.jupiter.api.DisplayName;
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
        "SPIR-V_1.2, 0, ''",
        "SPIR-V_1.2, 2, ''",
        "SPIR-V_1.2, 3, 'up to 1.2, and this is SPIR-V 1.3'",
        "SPIR-V_1.0 SPIR-V_1.10 SPIR-V_1.4, 10, ''",
        "SPIR-V_1.0 SPIR-V_1.10 SPIR-V_1.4, 11, 'up to 1.10, and this is SPIR-V 1.11'",
        "OTHER_1.5, 0, " + NONE,
        "SPIR-V_x, 0, " + NONE,
        "SPIR-V_1.12345678901, 0, " + NONE,
        "'', 0, " + NONE
    })
    @DisplayName("N14 a device takes the versions up to its highest; others are refused with both")
    void versions(String languages, int minor, String refusal) {
        byte[] module = SampleBinaries.bytes("saxpy.spv");
        module[MINOR_VERSION_AT] = (byte) minor;
        String found = new SpirvSupport(List.of(languages.split(" ")))
                .refusal(MemorySegment.ofArray(module))
                .orElse("");
        assertEquals(refusal.isEmpty(), found.isEmpty(), found);
        assertTrue(found.contains(refusal), found);
    }
}
