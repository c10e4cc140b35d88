package dev.granary.gpu.binary;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;

/** Tests of the names of kernels in real binaries of Intel's compiler, and in SPIR-V. */
class DeviceKernelsTest {
    private static Optional<SortedSet<String>> kernels(byte[] bytes) {
        return DeviceKernels.of(MemorySegment.ofArray(bytes));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "saxpy-tgllp.patchtokens",
                "saxpy-tgllp.zebin",
                "saxpy-skl.zebin",
                "saxpy.spv"
            })
    @DisplayName("a binary names its kernels, and a truncated one none or fewer")
    void names(String file) {
        byte[] bytes = SampleBinaries.bytes(file);
        assertEquals(Optional.of(new TreeSet<>(List.of("saxpy"))), kernels(bytes));
        assertEquals(Optional.empty(), kernels(Arrays.copyOf(bytes, bytes.length / 2)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"saxpy-sm_90.cubin", "saxpy.cl"})
    @DisplayName("other containers have no names of Intel's device code")
    void others(String file) {
        assertEquals(Optional.empty(), kernels(SampleBinaries.bytes(file)));
    }
}
