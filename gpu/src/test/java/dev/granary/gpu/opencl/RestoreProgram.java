package dev.granary.gpu.opencl;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.KernelBinaries;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Program that restores {@link SampleKernels} from a file, launches {@code reverse} in the given
 * geometries, and prints results and times.
 */
public final class RestoreProgram {
    private RestoreProgram() {}

    /** Runs with the file of the binary, followed by the work-group sizes. */
    public static void main(String[] arguments) throws Exception {
        OpenClDevice device = OpenCl.devices().getFirst();
        List<Geometry> geometries = new ArrayList<>();
        KernelDescriptor.Builder builder = SampleKernels.builder(device.target());
        for (String size : Arrays.asList(arguments).subList(2, arguments.length)) {
            geometries.add(Geometry.of(SampleKernels.COUNT).local(Long.parseLong(size)));
        }
        if (arguments[1].equals("announced")) {
            geometries.forEach(geometry -> builder.launch("reverse", geometry));
        }
        KernelBinaries binaries = KernelBinaries.of(Files.readAllBytes(Path.of(arguments[0])));
        try (OpenClEngine engine = OpenClEngine.open(device)) {
            long start = System.nanoTime();
            KernelProgram primitive = engine.create(builder.build(), binaries, BinaryKind.KERNEL);
            long restored = System.nanoTime();
            System.out.println("origin=" + primitive.origin());
            try (LoadedKernels kernels = engine.load(primitive)) {
                for (Geometry geometry : geometries) {
                    System.out.println("result" + geometry.local().getFirst() + "="
                            + Arrays.hashCode(SampleKernels.reverse(engine, kernels, geometry)));
                }
                System.out.println("restoreMicros=" + (restored - start) / 1000);
                System.out.println("launchMicros=" + kernels.firstLaunchTime().toNanos() / 1000);
            }
        }
    }
}
