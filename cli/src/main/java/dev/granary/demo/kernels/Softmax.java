package dev.granary.demo.kernels;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;

import java.util.Arrays;
import java.util.random.RandomGenerator;

/**
 * The softmax of each row of a matrix, shifted by the row's maximum (Goodfellow, Bengio, Courville,
 * "Deep Learning", section 4.1).
 */
final class Softmax {
    private static final int ROWS = 13;
    private static final int COLUMNS = 501;
    private static final int GROUP = 128;

    private Softmax() {}

    static DemoKernel kernel() {
        return KernelRecipe.of("softmax", "softmax.cl")
                .including("group.clh", "operators.clh")
                .launching("softmax", Geometry.of(ROWS * GROUP).local(GROUP))
                .checkedBy(Softmax::check);
    }

    private static KernelCheckResult check(KernelHarness harness, RandomGenerator random) {
        // Values whose exponentials overflow in floats unless they are shifted.
        float[] rows = SyntheticData.floats(random, ROWS * COLUMNS, 190, 200);
        DeviceBuffer result = harness.floats(rows.length);
        harness.launch(
                "softmax", harness.input(rows), result, COLUMNS, harness.floatPerItem("softmax"));

        double[] expected = new double[rows.length];
        for (int start = 0; start < rows.length; start += COLUMNS) {
            double[] powers = new double[COLUMNS];
            for (int i = 0; i < COLUMNS; i++) {
                powers[i] = Math.exp(rows[start + i]);
            }
            double sum = Arrays.stream(powers).sum();
            for (int i = 0; i < COLUMNS; i++) {
                expected[start + i] = powers[i] / sum;
            }
        }
        return new ResultComparison()
                .floats("softmax", expected, KernelHarness.floatsOf(result), new Tolerance(5e-6, 0))
                .result();
    }
}
