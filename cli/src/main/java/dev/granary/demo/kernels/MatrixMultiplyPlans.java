package dev.granary.demo.kernels;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.plan.ArrayCache;
import dev.granary.gpu.plan.KernelPlan;
import dev.granary.gpu.plan.MemoryLocation;
import dev.granary.gpu.plan.ParallelAxis;
import dev.granary.gpu.plan.nest.ElementType;
import dev.granary.gpu.plan.nest.KernelArray;
import dev.granary.gpu.plan.nest.LoopIndex;
import dev.granary.gpu.plan.nest.LoopNest;

import java.util.random.RandomGenerator;

/**
 * The product of matrices {@code C += A B} as kernel plans, from the loops as they are to tiles in
 * local memory with double buffers. No tile divides the sizes.
 */
final class MatrixMultiplyPlans {
    private static final int ROWS = 75;
    private static final int COLUMNS = 93;
    private static final int INNER = 61;

    static final LoopIndex I = LoopIndex.of("i");
    static final LoopIndex J = LoopIndex.of("j");
    static final LoopIndex K = LoopIndex.of("k");
    private static final KernelArray A = KernelArray.input("A", ElementType.FLOAT, ROWS, INNER);
    private static final KernelArray B = KernelArray.input("B", ElementType.FLOAT, INNER, COLUMNS);
    static final KernelArray C = KernelArray.inputOutput("C", ElementType.FLOAT, ROWS, COLUMNS);

    private MatrixMultiplyPlans() {}

    /** Each work-item computes one element from global memory. */
    static DemoKernel naive() {
        return kernel(
                "plan-gemm-naive",
                KernelPlan.of(nest("gemm_naive").schedule().tile(I.by(8), J.by(8)))
                        .bind(I, ParallelAxis.GROUP_Y)
                        .bind(J, ParallelAxis.GROUP_X)
                        .bind(I.inner(), ParallelAxis.ITEM_Y)
                        .bind(J.inner(), ParallelAxis.ITEM_X));
    }

    /** Each work-item computes four neighbours as vectors, without copies. */
    static DemoKernel tiled() {
        LoopIndex four = LoopIndex.of("v");
        return kernel(
                "plan-gemm-tiled",
                KernelPlan.of(nest("gemm_tiled")
                                .schedule()
                                .tile(I.by(8), J.by(32))
                                .split(J.inner(), 4, four)
                                .reorder(I, J, I.inner(), J.inner(), K, four)
                                .vectorize(four))
                        .bind(I, ParallelAxis.GROUP_Y)
                        .bind(J, ParallelAxis.GROUP_X)
                        .bind(I.inner(), ParallelAxis.ITEM_Y)
                        .bind(J.inner(), ParallelAxis.ITEM_X));
    }

    /** Tiles of the factors in local memory, sums in private memory. */
    static DemoKernel cached() {
        return kernel(
                "plan-gemm-cached",
                inTiles("gemm_cached")
                        .cache(local(A).build())
                        .cache(local(B).build())
                        .cache(sums()));
    }

    /** The same with the next tiles fetched during the use of the current ones. */
    static DemoKernel doubleBuffered() {
        return kernel(
                "plan-gemm-buffered",
                inTiles("gemm_buffered")
                        .cache(local(A).doubleBuffered().build())
                        .cache(local(B).doubleBuffered().build())
                        .cache(sums()));
    }

    /** Returns the product, with that name of the kernel. */
    static LoopNest nest(String name) {
        return LoopNest.named(name)
                .loop(I, ROWS)
                .loop(J, COLUMNS)
                .loop(K, INNER)
                .logic(C.at(I, J).add(A.at(I, K).times(B.at(K, J))));
    }

    private static KernelPlan inTiles(String name) {
        return KernelPlan.of(nest(name)
                        .schedule()
                        .tile(I.by(16), J.by(16), K.by(16))
                        .reorder(I, J, K, I.inner(), J.inner(), K.inner()))
                .bind(I, ParallelAxis.GROUP_Y)
                .bind(J, ParallelAxis.GROUP_X)
                .bind(I.inner(), ParallelAxis.ITEM_Y)
                .bind(J.inner(), ParallelAxis.ITEM_X);
    }

    private static ArrayCache.Builder local(KernelArray factor) {
        return ArrayCache.of(factor).index(I.inner()).location(MemoryLocation.LOCAL);
    }

    private static ArrayCache sums() {
        return ArrayCache.of(C).index(K).location(MemoryLocation.PRIVATE).build();
    }

    /** Returns the demo kernel of a plan of the product. */
    static DemoKernel kernel(String name, KernelPlan plan) {
        return new PlanKernel(name, plan, (harness, random) -> check(harness, random, plan.name()));
    }

    private static KernelCheckResult check(
            KernelHarness harness, RandomGenerator random, String kernel) {
        float[] a = SyntheticData.floats(random, ROWS * INNER, -1, 1);
        float[] b = SyntheticData.floats(random, INNER * COLUMNS, -1, 1);
        float[] c = SyntheticData.floats(random, ROWS * COLUMNS, -1, 1);
        DeviceBuffer result = harness.input(c);
        harness.launch(kernel, harness.input(a), harness.input(b), result);
        double[] expected = new double[c.length];
        for (int row = 0; row < ROWS; row++) {
            for (int column = 0; column < COLUMNS; column++) {
                double sum = c[row * COLUMNS + column];
                for (int i = 0; i < INNER; i++) {
                    sum += (double) a[row * INNER + i] * b[i * COLUMNS + column];
                }
                expected[row * COLUMNS + column] = sum;
            }
        }
        return new ResultComparison()
                .floats("C", expected, KernelHarness.floatsOf(result), new Tolerance(1e-6, 2e-5))
                .result();
    }
}
