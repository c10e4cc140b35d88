package dev.granary.demo.kernels;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;

import java.util.random.RandomGenerator;

/**
 * Transposition of a matrix through padded tiles (Ruetsch and Micikevicius, "Optimizing Matrix
 * Transpose in CUDA").
 */
final class Transpose {
    private static final int ROWS = 131;
    private static final int COLUMNS = 77;

    private Transpose() {}

    static DemoKernel kernel() {
        return KernelRecipe.of("transpose", "transpose.cl")
                .with("-D TILE=16")
                .launching("transpose", Geometry.of(80, 72).local(16, 8))
                .checkedBy(Transpose::check);
    }

    private static KernelCheckResult check(KernelHarness harness, RandomGenerator random) {
        float[] matrix = SyntheticData.floats(random, ROWS * COLUMNS, -1, 1);
        DeviceBuffer transposed = harness.floats(ROWS * COLUMNS);
        harness.launch("transpose", harness.input(matrix), transposed, ROWS, COLUMNS);

        double[] expected = new double[ROWS * COLUMNS];
        for (int i = 0; i < expected.length; i++) {
            expected[i % COLUMNS * ROWS + i / COLUMNS] = matrix[i];
        }
        return new ResultComparison()
                .floats("transposed", expected, KernelHarness.floatsOf(transposed), Tolerance.NONE)
                .result();
    }
}
