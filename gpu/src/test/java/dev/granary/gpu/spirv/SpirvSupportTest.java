package dev.granary.gpu.spirv;

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
    @DisplayName("N14 a device takes the versions up to its highest; others are refused with both")
    void versions(String vendor, String languages, int minor, String refusal) {
        byte[] module = SampleBinaries.bytes("saxpy.spv");
        module[MINOR_VERSION_AT] = (byte) minor;
        String found = new SpirvSupport(vendor, List.of(languages.split(" ")))
                .refusal(MemorySegment.ofArray(module))
                .orElse("");
        assertEquals(refusal.isEmpty(), found.isEmpty(), found);
        assertTrue(found.contains(refusal), found);
    }
}
