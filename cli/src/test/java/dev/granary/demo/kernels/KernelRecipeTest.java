package dev.granary.demo.kernels;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClDevice;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.gpu.opencl.OpenClKernels;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.Arrays;
import java.util.List;

/** Tests of what a recipe requires of its check, on the simplest kernel. */
class KernelRecipeTest {
    private static final int COUNT = 100;
    private static final KernelRecipe ADD = KernelRecipe.of("vector-add", "vector_add.cl")
            .launching("vector_add", Geometry.of(128).local(64));

    @Test
    @DisplayName("An element that the kernel never writes is detected")
    void unwritten() throws Exception {
        KernelCheckResult result = verify(ADD.checkedBy((harness, random) -> {
            DeviceBuffer ones = harness.input(ones());
            DeviceBuffer sum = harness.floats(COUNT);
            harness.launch("vector_add", ones, ones, sum, COUNT - 1);
            double[] expected = new double[COUNT];
            Arrays.fill(expected, 2);
            return new ResultComparison()
                    .floats("sum", expected, KernelHarness.floatsOf(sum), Tolerance.NONE)
                    .result();
        }));
        assertEquals(new KernelCheckResult.Wrong("sum[99]: expected 2.0, got NaN"), result);
    }

    @Test
    @DisplayName("Buffers for results contain nothing that could pass for a result")
    void poison() throws Exception {
        verify(ADD.checkedBy((harness, random) -> {
            for (float element : KernelHarness.floatsOf(harness.floats(3))) {
                assertTrue(Float.isNaN(element));
            }
            assertTrue(Arrays.stream(KernelHarness.intsOf(harness.ints(3)))
                    .allMatch(element -> Math.abs(element) > 1_000_000));
            assertEquals(3, KernelHarness.bytesOf(harness.bytes(3)).length);
            DeviceBuffer ones = harness.input(ones());
            harness.launch("vector_add", ones, ones, ones, COUNT);
            return new KernelCheckResult.Right();
        }));
    }

    @Test
    @DisplayName("A check that omits a declared launch is rejected")
    void launchOmitted() {
        DemoKernel idle = ADD.checkedBy((harness, random) -> new KernelCheckResult.Right());
        String message =
                assertThrows(IllegalStateException.class, () -> verify(idle)).getMessage();
        assertEquals("The check of vector-add never launches vector_add", message);
    }

    @Test
    @DisplayName("A launch that was not declared is rejected")
    void launchNotDeclared() {
        DemoKernel undeclared = ADD.checkedBy((harness, random) -> {
            harness.launch("vector_subtract");
            return new KernelCheckResult.Right();
        });
        String message = assertThrows(IllegalStateException.class, () -> verify(undeclared))
                .getMessage();
        assertEquals("No launch of the kernel vector_subtract is declared", message);
    }

    @Test
    @DisplayName("A source that is not in the build is reported by name")
    void sourceMissing() {
        String message = assertThrows(
                        IllegalStateException.class, () -> KernelRecipe.text("none.cl"))
                .getMessage();
        assertEquals(
                "The demo's source /dev/granary/demo/none.cl is missing from this build", message);
    }

    private static KernelCheckResult verify(DemoKernel kernel) throws Exception {
        List<OpenClDevice> devices = OpenCl.devices();
        Assumptions.assumeFalse(devices.isEmpty(), "no OpenCL device");
        try (OpenClEngine engine = OpenClEngine.open(devices.getFirst());
                OpenClKernels kernels =
                        engine.load(engine.create(kernel.descriptor(engine.target())))) {
            return kernel.verify(engine, kernels, TestSeed.random("recipe"));
        }
    }

    private static float[] ones() {
        float[] ones = new float[COUNT];
        Arrays.fill(ones, 1);
        return ones;
    }
}
