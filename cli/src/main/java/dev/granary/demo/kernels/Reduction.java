package dev.granary.demo.kernels;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;

import java.util.random.RandomGenerator;
import java.util.stream.IntStream;

/**
 * Sum, smallest, largest and the first place of the largest of an array of integers, by a tree
 * reduction in two phases (Harris, "Optimizing Parallel Reduction in CUDA").
 */
final class Reduction {
    private static final int COUNT = 50_021;
    private static final int SUMMARY_INTS = 4;

    private Reduction() {}

    static DemoKernel kernel() {
        return KernelRecipe.of("reduction", "reduction.cl")
                .with("-D GROUP=64")
                .launching("reduce_elements", Geometry.of(5_120).local(64))
                .launching("reduce_groups", Geometry.of(64).local(64))
                .checkedBy(Reduction::check);
    }

    private static KernelCheckResult check(KernelHarness harness, RandomGenerator random) {
        // All values below zero, then all above: a missing or extra zero changes a result.
        ResultComparison comparison = new ResultComparison();
        compare(comparison, "below zero", harness, random.ints(COUNT, -2_000, 0));
        compare(comparison, "above zero", harness, random.ints(COUNT, 1, 2_000));
        return comparison.result();
    }

    private static void compare(
            ResultComparison comparison, String what, KernelHarness harness, IntStream numbers) {
        // Few distinct numbers: the largest occurs more than once, and its first position matters.
        int[] values = numbers.map(number -> number * 1_000_003).toArray();
        int groups = harness.groupsOf("reduce_elements");
        DeviceBuffer summaries = harness.ints(groups * SUMMARY_INTS);
        DeviceBuffer total = harness.ints(SUMMARY_INTS);
        harness.launch("reduce_elements", harness.input(values), COUNT, summaries);
        harness.launch("reduce_groups", summaries, groups, total);
        comparison.ints(
                what + ": sum, smallest, largest, place",
                reference(values),
                KernelHarness.intsOf(total));
    }

    private static int[] reference(int[] values) {
        int sum = 0;
        int smallest = Integer.MAX_VALUE;
        int place = 0;
        for (int i = 0; i < values.length; i++) {
            sum += values[i];
            smallest = Math.min(smallest, values[i]);
            if (values[i] > values[place]) {
                place = i;
            }
        }
        return new int[] {sum, smallest, values[place], place};
    }
}
