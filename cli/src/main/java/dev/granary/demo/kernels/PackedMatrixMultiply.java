package dev.granary.demo.kernels;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;

import java.util.random.RandomGenerator;

/**
 * A layer of a neural network: inputs times weights plus bias, with the weights packed into panels
 * of columns beforehand (Goto and van de Geijn, "Anatomy of High-Performance Matrix
 * Multiplication"). Packing is a program of its own, since weights are constant and inputs are not.
 */
final class PackedMatrixMultiply {
    static final int ROWS = 75;
    static final int COLUMNS = 93;
    static final int INNER = 61;

    private static final int PANEL = 8;
    private static final int PANELS = (COLUMNS + PANEL - 1) / PANEL;
    private static final Geometry PRODUCT = Geometry.of(PANELS, 80).local(4, 16);

    /** Number of floats of packed weights. */
    static final int PACKED = PANELS * INNER * PANEL;

    /** The program that packs weights. */
    static final KernelRecipe PACK = KernelRecipe.of("pack-weights", "pack_weights.cl")
            .with("-D PANEL=" + PANEL)
            .launching("pack_weights", Geometry.of(64, PANELS).local(16, 4));

    static final KernelRecipe LINEAR =
            KernelRecipe.of("packed-gemm", "packed_gemm.cl").launching("packed_gemm", PRODUCT);
    static final KernelRecipe RELU = KernelRecipe.of("packed-gemm-relu", "packed_gemm.cl")
            .with("-D RELU")
            .launching("packed_gemm", PRODUCT);

    private PackedMatrixMultiply() {}

    static DemoKernel packing() {
        return PACK.checkedBy(PackedMatrixMultiply::checkPacking);
    }

    static DemoKernel linear() {
        return LINEAR.checkedBy((harness, random) -> checkProduct(harness, random, LINEAR));
    }

    static DemoKernel relu() {
        return RELU.checkedBy((harness, random) -> checkProduct(harness, random, RELU));
    }

    static float[] weights(RandomGenerator random) {
        return SyntheticData.floats(random, INNER * COLUMNS, -1, 1);
    }

    /** Packs weights on the device. */
    static void pack(KernelHarness harness, float[] weights, DeviceBuffer packed) {
        harness.launch("pack_weights", COLUMNS, INNER, harness.input(weights), packed);
    }

    /**
     * Multiplies synthetic inputs by packed weights on the device and compares with a product in
     * Java.
     */
    static KernelCheckResult multiply(
            KernelHarness harness,
            RandomGenerator random,
            KernelRecipe recipe,
            float[] weights,
            DeviceBuffer packed) {
        float[] inputs = SyntheticData.floats(random, ROWS * INNER, -1, 1);
        float[] bias = SyntheticData.floats(random, COLUMNS, -1, 1);
        DeviceBuffer result = harness.floats(ROWS * COLUMNS);
        harness.launch(
                "packed_gemm",
                ROWS,
                COLUMNS,
                INNER,
                harness.input(inputs),
                packed,
                harness.input(bias),
                result);

        double[] expected = new double[ROWS * COLUMNS];
        for (int row = 0; row < ROWS; row++) {
            for (int column = 0; column < COLUMNS; column++) {
                double sum = bias[column];
                for (int i = 0; i < INNER; i++) {
                    sum += (double) inputs[row * INNER + i] * weights[i * COLUMNS + column];
                }
                expected[row * COLUMNS + column] = recipe == RELU ? Math.max(sum, 0) : sum;
            }
        }
        return new ResultComparison()
                .floats(
                        recipe.name(),
                        expected,
                        KernelHarness.floatsOf(result),
                        new Tolerance(1e-6, 2e-5))
                .result();
    }

    private static float[] packed(float[] weights) {
        float[] packed = new float[PACKED];
        for (int row = 0; row < INNER; row++) {
            for (int column = 0; column < COLUMNS; column++) {
                packed[(column / PANEL * INNER + row) * PANEL + column % PANEL] =
                        weights[row * COLUMNS + column];
            }
        }
        return packed;
    }

    private static KernelCheckResult checkPacking(KernelHarness harness, RandomGenerator random) {
        float[] weights = weights(random);
        DeviceBuffer packed = harness.floats(PACKED);
        pack(harness, weights, packed);
        float[] reference = packed(weights);
        double[] expected = new double[PACKED];
        for (int i = 0; i < PACKED; i++) {
            expected[i] = reference[i];
        }
        return new ResultComparison()
                .floats("packed", expected, KernelHarness.floatsOf(packed), Tolerance.NONE)
                .result();
    }

    private static KernelCheckResult checkProduct(
            KernelHarness harness, RandomGenerator random, KernelRecipe recipe) {
        float[] weights = weights(random);
        return multiply(harness, random, recipe, weights, harness.input(packed(weights)));
    }
}
