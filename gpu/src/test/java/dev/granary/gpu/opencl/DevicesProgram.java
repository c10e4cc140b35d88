package dev.granary.gpu.opencl;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.RestoreException;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;

import java.util.Arrays;
import java.util.List;

/**
 * Program that uses all devices of a process at once: builds on each, and restores each device's
 * binaries on the others.
 */
public final class DevicesProgram {
    private DevicesProgram() {}

    /** Prints the results. */
    public static void main(String[] arguments) throws Exception {
        List<OpenClDevice> devices = OpenCl.devices();
        System.out.println("count=" + devices.size());
        OpenClEngine first = OpenClEngine.open(devices.get(0));
        OpenClEngine second = OpenClEngine.open(devices.get(1));
        System.out.println("target0=" + first.target().device());
        System.out.println("target1=" + second.target().device());
        KernelProgram one = first.create(SampleKernels.builder(first.target()).build());
        KernelProgram other =
                second.create(SampleKernels.builder(second.target()).build());
        System.out.println("sameBinaries="
                + one.getBinaries(BinaryKind.KERNEL).equals(other.getBinaries(BinaryKind.KERNEL)));
        for (OpenClEngine engine : List.of(first, second)) {
            KernelProgram own = engine == first ? one : other;
            KernelProgram restored = engine.create(
                    own.descriptor(), own.getBinaries(BinaryKind.KERNEL), BinaryKind.KERNEL);
            try (LoadedKernels kernels = engine.load(restored)) {
                System.out.println("result" + (engine == first ? 0 : 1) + "="
                        + Arrays.hashCode(SampleKernels.reverse(
                                engine, kernels, SampleKernels.SMALL_GROUPS)));
            }
        }
        System.out.println("offered=" + offer(second, one));
        first.close();
        second.close();
    }

    private static String offer(OpenClEngine engine, KernelProgram foreign) {
        try {
            return "accepted "
                    + engine.create(
                            foreign.descriptor(),
                            foreign.getBinaries(BinaryKind.KERNEL),
                            BinaryKind.KERNEL);
        } catch (IllegalArgumentException | RestoreException e) {
            return e.getClass().getSimpleName();
        }
    }
}
