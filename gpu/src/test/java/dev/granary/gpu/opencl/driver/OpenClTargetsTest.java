package dev.granary.gpu.opencl.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.gpu.device.DriverTraits;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.HashSet;
import java.util.Set;

/** Tests of the targets of OpenCL devices by vendor. */
class OpenClTargetsTest {
    private static final String NONE = Target.UNKNOWN;

    private static Target target(String... answers) {
        return OpenClTargets.targetOf(new DeviceInfo(
                answers[0],
                answers[1],
                answers[2],
                answers[3],
                answers[4],
                answers[5],
                answers[6],
                answers[7]));
    }

    @Test
    @DisplayName("PoCL: platform version and device version count, the reported vendor and driver"
            + " version do not")
    void pocl() {
        Target pocl = target(
                "Portable Computing Language",
                "PoCL 3.1 LLVM 15",
                "GenuineIntel",
                "cpu-zen",
                "HSTR: zen",
                "3.1",
                NONE,
                NONE);
        assertEquals(new Target(Backend.OPENCL, "pocl", "HSTR: zen", "PoCL 3.1 LLVM 15"), pocl);
        assertTrue(DriverTraits.compilesAtLaunch(pocl));
        assertEquals(
                pocl,
                target(
                        "Portable Computing Language",
                        "PoCL 3.1 LLVM 15",
                        "AMD",
                        "other name",
                        "HSTR: zen",
                        "3",
                        NONE,
                        NONE));
        assertNotEquals(
                pocl,
                target(
                        "Portable Computing Language",
                        "PoCL 3.1 LLVM 14",
                        "AMD",
                        "cpu",
                        "HSTR: zen",
                        "3.1",
                        NONE,
                        NONE));
        assertNotEquals(
                pocl,
                target(
                        "Portable Computing Language",
                        "PoCL 3.1 LLVM 15",
                        "AMD",
                        "cpu",
                        "HSTR: avx",
                        "3.1",
                        NONE,
                        NONE));
    }

    @Test
    @DisplayName("NVIDIA: name, compute capability and driver version")
    void nvidia() {
        Target nvidia = target(
                "NVIDIA CUDA",
                "OpenCL 3.0 CUDA 12.4",
                "NVIDIA Corporation",
                "H100",
                "OpenCL 3.0 CUDA",
                "550.54",
                NONE,
                "9.0");
        assertEquals(new Target(Backend.OPENCL, "nvidia", "H100 sm 9.0", "550.54"), nvidia);
        assertFalse(DriverTraits.compilesAtLaunch(nvidia));
    }

    @Test
    @DisplayName("Intel: of a GPU the device id counts, since the version names no device and names"
            + " change; of a processor the name as well; without an id all properties")
    void intel() {
        for (String name : new String[] {"Xe", "Intel(R) Iris(R) Xe Graphics [0x9a49]"}) {
            assertEquals(
                    new Target(Backend.OPENCL, "intel", "GPU id 0x9a49", "23.1"),
                    target(
                            "Intel(R) OpenCL Graphics",
                            "OpenCL 3.0",
                            "Intel",
                            name,
                            "OpenCL 3.0 NEO",
                            "23.1",
                            "0x9a49",
                            NONE));
        }
        assertEquals(
                new Target(Backend.OPENCL, "intel", "Core i7 id 0x0", "23.1"),
                target(
                        "Intel(R) OpenCL",
                        "OpenCL 3.0",
                        "Intel",
                        "Core i7",
                        "OpenCL 3.0",
                        "23.1",
                        "0x0",
                        NONE));
        assertEquals(
                new Target(
                        Backend.OPENCL,
                        "Intel",
                        "Xe OpenCL 3.0 NEO",
                        "23.1 Intel(R) OpenCL OpenCL 3.0"),
                target(
                        "Intel(R) OpenCL",
                        "OpenCL 3.0",
                        "Intel",
                        "Xe",
                        "OpenCL 3.0 NEO",
                        "23.1",
                        NONE,
                        NONE));
    }

    @Test
    @DisplayName("each failed query gives a stable target that differs from the regular one and"
            + " from those of other failures")
    void failedProbes() {
        String[] healthy = {"Clover", "1.1 Mesa", "Mesa", "card", "OpenCL 1.1", "22.3", NONE, NONE};
        Set<Target> targets = new HashSet<>(Set.of(target(healthy)));
        for (int i = 0; i < 6; i++) {
            String[] answers = healthy.clone();
            answers[i] = NONE;
            assertEquals(target(answers), target(answers.clone()));
            targets.add(target(answers));
        }
        assertEquals(7, targets.size());
        String[] allFailed = new String[8];
        java.util.Arrays.fill(allFailed, NONE);
        assertTrue(target(allFailed).name().startsWith("unknown_"));
    }
}
