package dev.granary.demo.kernels;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;

import java.util.random.RandomGenerator;

/**
 * The dot product of two vectors, as partial sums of groups and a tree over them (Harris,
 * "Optimizing Parallel Reduction in CUDA").
 */
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

    private static KernelCheckResult check(KernelHarness harness, RandomGenerator random) {
        float[] left = SyntheticData.floats(random, COUNT, -1, 1);
        float[] right = SyntheticData.floats(random, COUNT, -1, 1);
        int groups = harness.groupsOf("dot_partial");
        DeviceBuffer partial = harness.floats(groups);
        DeviceBuffer total = harness.floats(1);
        harness.launch(
                "dot_partial",
                harness.input(left),
                harness.input(right),
                COUNT,
                partial,
                harness.floatPerItem("dot_partial"));
        harness.launch("dot_total", partial, groups, total, harness.floatPerItem("dot_total"));

        double sum = 0;
        double magnitude = 0;
        for (int i = 0; i < COUNT; i++) {
            double product = (double) left[i] * right[i];
            sum += product;
            magnitude += Math.abs(product);
        }
        // Terms cancel: the rounding error depends on their magnitudes, not on their sum.
        Tolerance tolerance = new Tolerance(0, 2e-7 * magnitude);
        return new ResultComparison()
                .floats("dot product", new double[] {sum}, KernelHarness.floatsOf(total), tolerance)
                .result();
    }
}
