package dev.granary.gpu.opencl;

import dev.granary.cache.BinaryKind;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** Builds {@link SampleKernels} in a process of its own and writes the binaries, taken in different ways. */
public final class TakeProgram {
    private TakeProgram() {}

    /**
     * For each argument a file of that name: {@code none} (no launch), {@code launched-16} (after a launch in groups of 16) or
     * {@code announced-16-64} (without a launch, two announced).
     */
    public static void main(String[] arguments) throws Exception {
        try (OpenClEngine engine = OpenClEngine.open(OpenCl.devices().getFirst())) {
            for (String way : arguments) {
                List<String> words = Arrays.asList(way.split("-", -1));
                List<Geometry> geometries = words.stream().skip(1).map(Long::valueOf)
                        .map(size -> Geometry.of(SampleKernels.COUNT).local(size)).toList();
                KernelDescriptor.Builder builder = SampleKernels.builder(engine.target());
                boolean isLaunched = words.getFirst().equals("launched");
                if (!isLaunched) {
                    geometries.forEach(geometry -> builder.launch("reverse", geometry));
                }
                OpenClPrimitive primitive = engine.create(builder.build());
                if (isLaunched) {
                    try (OpenClKernels kernels = engine.load(primitive)) {
                        geometries.forEach(geometry -> SampleKernels.checkReverse(engine, kernels, geometry));
                    }
                }
                Files.write(Path.of(way), primitive.getBinaries(BinaryKind.KERNEL).toByteArrays().getFirst());
                System.out.println(way + "=" + primitive.geometries());
            }
        }
    }
}
