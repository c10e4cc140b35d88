package dev.granary.gpu.binary;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Backend;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Target;
import dev.granary.cache.fuzz.FuzzTarget;
import dev.granary.cache.fuzz.Fuzzer;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility;
import dev.granary.gpu.binary.compatibility.CompatibilityChecker;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/** Fuzz tests of the containers of all formats, mutated. */
class BinaryFuzzTest {
    private static final List<Target> TARGETS = List.of(
            SampleBinaries.TIGER_LAKE,
            SampleBinaries.SKYLAKE,
            SampleBinaries.HOPPER,
            SampleBinaries.POCL,
            SampleBinaries.OTHER);
    private static final Target INTERMEDIATE =
            new Target(Backend.LEVEL_ZERO, BinaryContainer.SpirV.VENDOR, "any", "any");
    private static final byte[] FRONT_END = {'o', '1'};

    /** Reads a container, describes it, and checks it against targets. */
    static void read(byte[] bytes) {
        MemorySegment binary = MemorySegment.ofArray(bytes);
        BinaryContainer container = BinaryContainer.read(binary);
        String description = container.description();
        assertTrue(
                description.chars().allMatch(c -> c >= ' ' && c <= '~')
                        && description.length() < 1000,
                description);
        DeviceKernels.of(binary);
        boolean isModule =
                CompatibilityChecker.check(INTERMEDIATE, KernelBinaries.of(bytes, FRONT_END))
                        instanceof BinaryCompatibility.Compatible;
        assertTrue(!isModule || container instanceof BinaryContainer.SpirV, description);
        for (Target target : TARGETS) {
            BinaryCompatibility result = CompatibilityChecker.check(target, binary);
            assertNotNull(result.reason());
            if (container instanceof BinaryContainer.Malformed) {
                assertTrue(!(result instanceof BinaryCompatibility.Compatible), description);
            }
        }
    }

    @Test
    @DisplayName("Fuzz: any bytes have a container and a result, in memory bounded by their length")
    void containers() {
        List<byte[]> seeds = new ArrayList<>();
        for (String name : SampleBinaries.ALL) {
            seeds.add(SampleBinaries.bytes(name));
        }
        seeds.add(SampleBinaries.withSteppingChecked());
        seeds.add(PoclBinaryWriter.binary(
                SampleBinaries.POCL.device(), 9, "/program.bc", "/scale/0/scale.so"));
        Fuzzer.run(FuzzTarget.of("binary", seeds, BinaryFuzzTest::read)
                .words(List.of(
                        "poclbin\0",
                        "\u007fELF",
                        "CTNI",
                        "!<arch>\n",
                        "`\n",
                        "//              ",
                        "/99             ",
                        "IntelGT\0",
                        ".note.intelgt.compat\0",
                        ".version 9.0\n",
                        ".target sm_90\n",
                        "../"))
                .allocating(64));
    }
}
