package dev.granary.demo.kernels;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;

import java.util.random.RandomGenerator;

/**
 * Layer normalisation of the rows of a matrix with scale and shift per column (Ba, Kiros, Hinton,
 * "Layer Normalization").
 */
final class LayerNorm {
    private static final int ROWS = 17;
    private static final int COLUMNS = 387;
    private static final int GROUP = 64;
    private static final float EPSILON = 1e-5f;

    private LayerNorm() {}

    static DemoKernel kernel() {
        return KernelRecipe.of("layer-norm", "layer_norm.cl")
                .including("group.clh", "operators.clh")
                .launching("layer_norm", Geometry.of(ROWS * GROUP).local(GROUP))
                .checkedBy(LayerNorm::check);
    }

    private static KernelCheckResult check(KernelHarness harness, RandomGenerator random) {
        float[] rows = SyntheticData.floats(random, ROWS * COLUMNS, 2, 6);
        float[] scale = SyntheticData.floats(random, COLUMNS, 0.5f, 2);
        float[] shift = SyntheticData.floats(random, COLUMNS, -1, 1);
        DeviceBuffer result = harness.floats(rows.length);
        DeviceBuffer means = harness.floats(ROWS);
        DeviceBuffer deviations = harness.floats(ROWS);
        harness.launch(
                "layer_norm",
                harness.input(rows),
                harness.input(scale),
                harness.input(shift),
                result,
                means,
                deviations,
                COLUMNS,
                EPSILON,
                harness.floatPerItem("layer_norm"));

        double[] expected = new double[rows.length];
        double[] expectedMeans = new double[ROWS];
        double[] expectedDeviations = new double[ROWS];
        for (int row = 0; row < ROWS; row++) {
            double sum = 0;
            double squares = 0;
            for (int i = 0; i < COLUMNS; i++) {
                double value = rows[row * COLUMNS + i];
                sum += value;
                squares += value * value;
            }
            double mean = sum / COLUMNS;
            double deviation = Math.sqrt(squares / COLUMNS - mean * mean + EPSILON);
            for (int i = 0; i < COLUMNS; i++) {
                expected[row * COLUMNS + i] =
                        (rows[row * COLUMNS + i] - mean) / deviation * scale[i] + shift[i];
            }
            expectedMeans[row] = mean;
            expectedDeviations[row] = deviation;
        }
        return new ResultComparison()
                .floats(
                        "mean",
                        expectedMeans,
                        KernelHarness.floatsOf(means),
                        new Tolerance(1e-6, 0))
                .floats(
                        "deviation",
                        expectedDeviations,
                        KernelHarness.floatsOf(deviations),
                        new Tolerance(2e-6, 0))
                .floats("row", expected, KernelHarness.floatsOf(result), new Tolerance(4e-6, 4e-6))
                .result();
    }
}
