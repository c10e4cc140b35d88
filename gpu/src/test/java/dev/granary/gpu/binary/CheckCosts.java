package dev.granary.gpu.binary;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Target;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility;
import dev.granary.gpu.binary.compatibility.CompatibilityChecker;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClEngine;

import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.Locale;

/**
 * Program that prints the cost of the check before a restore: the first in the process, and the
 * median of later ones, in processor time. See docs/decisions/0040-containers-without-drivers.md.
 */
public final class CheckCosts {
    private static final int ROUNDS = 201;
    private static final int CHECKS = 1000;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private CheckCosts() {}

    /** Measures the samples, and a binary of PoCL if it is the first device. */
    public static void main(String[] arguments) {
        if (arguments.length > 0) { // this sample alone, for the first check of a process
            print(arguments[0], SampleBinaries.TIGER_LAKE, SampleBinaries.bytes(arguments[0]));
            return;
        }
        for (String name : SampleBinaries.ALL) {
            boolean isIntel = !name.contains("sm_");
            print(
                    name,
                    isIntel ? SampleBinaries.TIGER_LAKE : SampleBinaries.HOPPER,
                    SampleBinaries.bytes(name));
        }
        if (OpenCl.devices().isEmpty()) {
            return;
        }
        try (OpenClEngine engine = OpenClEngine.open(OpenCl.devices().getFirst())) {
            KernelBinaries own = engine.create(KernelDescriptor.builder(engine.target(), "saxpy")
                            .source(new String(SampleBinaries.bytes("saxpy.cl"), UTF_8))
                            .build())
                    .getBinaries(BinaryKind.KERNEL);
            print(
                    "a binary of " + engine.target().vendor(),
                    engine.target(),
                    own.toByteArrays().getFirst());
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static void print(String name, Target target, byte[] binary) {
        KernelBinaries binaries = KernelBinaries.of(binary);
        // a lookup has read an entry from memory segments before, which initializes the JDK's part
        binaries.segments().getFirst().get(ValueLayout.JAVA_BYTE, 0);
        binaries.segments().getFirst().get(ValueLayout.JAVA_SHORT_UNALIGNED, 0);
        binaries.segments().getFirst().get(ValueLayout.JAVA_INT_UNALIGNED, 0);
        binaries.segments().getFirst().get(ValueLayout.JAVA_LONG_UNALIGNED, 0);
        long start = THREADS.getCurrentThreadCpuTime();
        BinaryCompatibility result = CompatibilityChecker.check(target, binaries);
        long first = THREADS.getCurrentThreadCpuTime() - start;
        double[] each = new double[ROUNDS];
        int reasons = 0;
        for (int round = 0; round < ROUNDS; round++) {
            start = THREADS.getCurrentThreadCpuTime();
            for (int i = 0; i < CHECKS; i++) {
                reasons += CompatibilityChecker.check(target, binaries).hashCode() & 1;
            }
            each[round] = (THREADS.getCurrentThreadCpuTime() - start) / 1000.0 / CHECKS;
        }
        Arrays.sort(each);
        System.out.printf(
                Locale.ROOT,
                "%-26s %7d bytes  first %8.1f us  then %6.2f us  %s%n",
                name,
                binary.length,
                first / 1000.0,
                each[ROUNDS / 2],
                result.reason() + (reasons == 0 ? " " : ""));
    }
}
