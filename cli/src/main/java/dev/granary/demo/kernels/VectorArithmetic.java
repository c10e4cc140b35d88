package dev.granary.demo.kernels;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;

import java.util.random.RandomGenerator;

/**
 * Sum of two vectors, and {@code y = a x + y} over vectors with increments, as the BLAS routine
 * {@code saxpy} defines it.
 */
final class VectorArithmetic {
    private static final int COUNT = 10_007;
    private static final int X_STEP = 2;
    private static final int Y_STEP = 3;
    private static final Tolerance ROUNDING = new Tolerance(2e-7, 2e-7);

    private VectorArithmetic() {}

    static DemoKernel add() {
        return KernelRecipe.of("vector-add", "vector_add.cl")
                .launching("vector_add", Geometry.of(10_048).local(64))
                .checkedBy(VectorArithmetic::checkAdd);
    }

    static DemoKernel saxpy() {
        return KernelRecipe.of("saxpy", "saxpy.cl")
                .with("-D ITEMS=4")
                .launching("saxpy", Geometry.of(2_560).local(128))
                .checkedBy(VectorArithmetic::checkSaxpy);
    }

    private static KernelCheckResult checkAdd(KernelHarness harness, RandomGenerator random) {
        float[] left = SyntheticData.floats(random, COUNT, -1, 1);
        float[] right = SyntheticData.floats(random, COUNT, -1, 1);
        DeviceBuffer sum = harness.floats(COUNT);
        harness.launch("vector_add", harness.input(left), harness.input(right), sum, COUNT);

        double[] expected = new double[COUNT];
        for (int i = 0; i < COUNT; i++) {
            expected[i] = (double) left[i] + right[i];
        }
        return new ResultComparison()
                .floats("sum", expected, KernelHarness.floatsOf(sum), ROUNDING)
                .result();
    }

    private static KernelCheckResult checkSaxpy(KernelHarness harness, RandomGenerator random) {
        float a = random.nextFloat(-2, 2);
        float[] x = SyntheticData.floats(random, COUNT * X_STEP, -1, 1);
        float[] y = SyntheticData.floats(random, COUNT * Y_STEP, -1, 1);
        DeviceBuffer result = harness.input(y);
        harness.launch("saxpy", a, harness.input(x), X_STEP, result, Y_STEP, COUNT);

        double[] expected = new double[y.length];
        for (int i = 0; i < y.length; i++) {
            // Gaps between elements are not written.
            expected[i] = i % Y_STEP == 0 ? (double) a * x[i / Y_STEP * X_STEP] + y[i] : y[i];
        }
        return new ResultComparison()
                .floats("y", expected, KernelHarness.floatsOf(result), new Tolerance(3e-7, 5e-7))
                .result();
    }
}
