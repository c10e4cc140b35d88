package dev.granary.demo.kernels;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;

import java.util.random.RandomGenerator;

/**
 * The BLAS routine {@code gemm}, {@code C = alpha A B + beta C}, by tiles in local memory; one
 * source, with a program for each tile size.
 */
final class MatrixMultiply {
    private static final int ROWS = 75;
    private static final int COLUMNS = 93;
    private static final int INNER = 61;

    private MatrixMultiply() {}

    static DemoKernel kernel(int tile) {
        return KernelRecipe.of("gemm-" + tile, "gemm.cl")
                .with("-D TILE=" + tile)
                .launching(
                        "gemm",
                        Geometry.of(roundedUp(COLUMNS, tile), roundedUp(ROWS, tile))
                                .local(tile, tile))
                .checkedBy(MatrixMultiply::check);
    }

    private static long roundedUp(int size, int tile) {
        return (size + tile - 1L) / tile * tile;
    }

    private static KernelCheckResult check(KernelHarness harness, RandomGenerator random) {
        float alpha = random.nextFloat(0.5f, 2);
        float beta = random.nextFloat(0.5f, 2);
        float[] a = SyntheticData.floats(random, ROWS * INNER, -1, 1);
        float[] b = SyntheticData.floats(random, INNER * COLUMNS, -1, 1);
        float[] c = SyntheticData.floats(random, ROWS * COLUMNS, -1, 1);
        DeviceBuffer result = harness.input(c);
        harness.launch(
                "gemm",
                ROWS,
                COLUMNS,
                INNER,
                alpha,
                harness.input(a),
                harness.input(b),
                beta,
                result);

        double[] expected = new double[c.length];
        for (int row = 0; row < ROWS; row++) {
            for (int column = 0; column < COLUMNS; column++) {
                double sum = 0;
                for (int i = 0; i < INNER; i++) {
                    sum += (double) a[row * INNER + i] * b[i * COLUMNS + column];
                }
                expected[row * COLUMNS + column] = alpha * sum + beta * c[row * COLUMNS + column];
            }
        }
        return new ResultComparison()
                .floats("C", expected, KernelHarness.floatsOf(result), new Tolerance(1e-6, 2e-5))
                .result();
    }
}
