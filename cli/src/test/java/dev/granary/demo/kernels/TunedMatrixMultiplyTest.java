package dev.granary.demo.kernels;

import static org.junit.jupiter.api.Assertions.assertEquals;

import static java.util.stream.Collectors.toSet;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.gpu.DriverTraits;
import dev.granary.gpu.opencl.NeedsPocl;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClDevice;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.gpu.opencl.OpenClKernels;
import dev.granary.gpu.plan.tuning.PlanSpace;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/** Tests of the space in which the demo tunes the product of matrices. */
class TunedMatrixMultiplyTest {
    private static final Target SOME_POCL = new Target(Backend.OPENCL, "pocl", "cpu", "1");

    private final PlanSpace space = TunedMatrixMultiply.space();

    private DemoKernel kernel(int point) {
        return TunedMatrixMultiply.kernel(space.plan(space.point(point)));
    }

    private static OpenClDevice pocl() {
        return OpenCl.devices().stream()
                .filter(device -> device.target().vendor().equals(DriverTraits.POCL))
                .findFirst()
                .orElseThrow();
    }

    private void check(int point) throws Exception {
        DemoKernel kernel = kernel(point);
        try (OpenClEngine engine = OpenClEngine.open(pocl());
                OpenClKernels kernels =
                        engine.load(engine.create(kernel.descriptor(engine.target())))) {
            assertEquals(
                    new KernelCheckResult.Right(),
                    kernel.verify(engine, kernels, TestSeed.random("product")),
                    () -> space.point(point).toString());
        }
    }

    @Test
    @DisplayName("P11 each point of the demo's space is another plan, for each device")
    void plans() {
        assertEquals(
                space.size(),
                IntStream.range(0, space.size())
                        .mapToObj(point -> kernel(point).descriptor(SOME_POCL).getId())
                        .collect(toSet())
                        .size());
    }

    @Test
    @NeedsPocl
    @DisplayName("P5 plans of the demo's space compute the product")
    void sample() throws Exception {
        SplittableRandom random = TestSeed.random("points");
        for (int point : List.of(random.nextInt(space.size()), random.nextInt(space.size()))) {
            check(point);
        }
    }

    @Test
    @NeedsPocl
    @Tag("exhaustive")
    @DisplayName("P5 all plans of the demo's space compute the product")
    void all() throws Exception {
        for (int point = 0; point < space.size(); point++) {
            check(point);
        }
    }
}
