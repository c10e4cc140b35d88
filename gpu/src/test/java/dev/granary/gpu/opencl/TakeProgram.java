package dev.granary.gpu.opencl;

import dev.granary.cache.BinaryKind;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** Program that builds {@link SampleKernels} and writes its binaries, taken in different modes. */
public final class TakeProgram {
    private TakeProgram() {}

    /**
     * Writes one file for each argument: {@code none} (no launch), {@code launched-16} (after a
     * launch in work-groups of 16), {@code announced-16-64} (without a launch, two announced) or
     * {@code program-16} (one announced, taken for launches by the application).
     */
    public static void main(String[] arguments) throws Exception {
        try (OpenClEngine engine = OpenClEngine.open(OpenCl.devices().getFirst())) {
            for (String mode : arguments) {
                List<String> words = Arrays.asList(mode.split("-", -1));
                List<Geometry> geometries = words.stream()
                        .skip(1)
                        .map(Long::valueOf)
                        .map(size -> Geometry.of(SampleKernels.COUNT).local(size))
                        .toList();
                KernelDescriptor.Builder builder = SampleKernels.builder(engine.target());
                boolean isLaunched = words.getFirst().equals("launched");
                if (!isLaunched) {
                    geometries.forEach(geometry -> builder.launch("reverse", geometry));
                }
                KernelProgram primitive = engine.create(builder.build());
                if (isLaunched) {
                    try (LoadedKernels kernels = engine.load(primitive)) {
                        geometries.forEach(
                                geometry -> SampleKernels.checkReverse(engine, kernels, geometry));
                    }
                }
                if (words.getFirst().equals("program")) {
                    engine.program(primitive).close();
                    primitive.onBinariesComplete(() -> System.out.println("complete=" + mode));
                }
                Files.write(
                        Path.of(mode),
                        primitive.getBinaries(BinaryKind.KERNEL).toByteArrays().getFirst());
                System.out.println(mode + "=" + primitive.geometries());
            }
        }
    }
}
