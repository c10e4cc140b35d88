package dev.granary.demo.kernels;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;

import java.util.random.RandomGenerator;

/**
 * A sparse matrix times a vector, the matrix in compressed rows, a group for each row (Bell and
 * Garland, "Efficient Sparse Matrix-Vector Multiplication on CUDA").
 */
final class SparseMultiply {
    private static final int ROWS = 157;
    private static final int COLUMNS = 211;
    private static final int GROUP = 16;

    private SparseMultiply() {}

    static DemoKernel kernel() {
        return KernelRecipe.of("sparse-multiply", "sparse_multiply.cl")
                .including("group.clh", "operators.clh")
                .launching("sparse_multiply", Geometry.of(ROWS * GROUP).local(GROUP))
                .checkedBy(SparseMultiply::check);
    }

    private static KernelCheckResult check(KernelHarness harness, RandomGenerator random) {
        // Rows from empty to much longer than a group.
        int[] starts = new int[ROWS + 1];
        for (int row = 0; row < ROWS; row++) {
            starts[row + 1] = starts[row] + (row % 10 == 3 ? 0 : random.nextInt(1, 60));
        }
        int[] columns = random.ints(starts[ROWS], 0, COLUMNS).toArray();
        float[] values = SyntheticData.floats(random, starts[ROWS], -1, 1);
        float[] vector = SyntheticData.floats(random, COLUMNS, -1, 1);
        DeviceBuffer product = harness.floats(ROWS);
        harness.launch(
                "sparse_multiply",
                harness.input(starts),
                harness.input(columns),
                harness.input(values),
                harness.input(vector),
                product,
                harness.floatPerItem("sparse_multiply"));

        // The reference multiplies the dense matrix; elements stored twice are added.
        double[][] dense = new double[ROWS][COLUMNS];
        for (int row = 0; row < ROWS; row++) {
            for (int i = starts[row]; i < starts[row + 1]; i++) {
                dense[row][columns[i]] += values[i];
            }
        }
        double[] expected = new double[ROWS];
        for (int row = 0; row < ROWS; row++) {
            for (int column = 0; column < COLUMNS; column++) {
                expected[row] += dense[row][column] * vector[column];
            }
        }
        return new ResultComparison()
                .floats(
                        "product",
                        expected,
                        KernelHarness.floatsOf(product),
                        new Tolerance(1e-6, 1e-5))
                .result();
    }
}
