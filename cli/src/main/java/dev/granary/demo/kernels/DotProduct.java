package dev.granary.demo.kernels;

import dev.granary.gpu.Geometry;
import dev.granary.gpu.opencl.OpenClBuffer;
import java.util.random.RandomGenerator;

/** The dot product of two vectors, as partial sums of groups and a tree over them (Harris, "Optimizing Parallel Reduction in CUDA"). */
final class DotProduct {
    private static final int COUNT = 30_011;

    private DotProduct() {}

    static DemoKernel kernel() {
        return KernelRecipe.of("dot-product", "dot_product.cl")
                .including("group.clh", "operators.clh")
                .launching("dot_partial", Geometry.of(3_072).local(128))
                .launching("dot_total", Geometry.of(32).local(32))
                .checkedBy(DotProduct::check);
    }

    private static KernelCheckResult check(KernelHarness bench, RandomGenerator random) {
        float[] left = SyntheticData.floats(random, COUNT, -1, 1);
        float[] right = SyntheticData.floats(random, COUNT, -1, 1);
        int groups = bench.groupsOf("dot_partial");
        OpenClBuffer partial = bench.floats(groups);
        OpenClBuffer total = bench.floats(1);
        bench.launch("dot_partial", bench.input(left), bench.input(right), COUNT, partial, bench.floatPerItem("dot_partial"));
        bench.launch("dot_total", partial, groups, total, bench.floatPerItem("dot_total"));

        double sum = 0;
        double magnitude = 0;
        for (int i = 0; i < COUNT; i++) {
            double product = (double) left[i] * right[i];
            sum += product;
            magnitude += Math.abs(product);
        }
        // Terms cancel: what rounding costs follows from their magnitudes, not from their sum.
        Tolerance tolerance = new Tolerance(0, 2e-7 * magnitude);
        return new ResultComparison().floats("dot product", new double[] {sum}, KernelHarness.floatsOf(total), tolerance).verdict();
    }
}
