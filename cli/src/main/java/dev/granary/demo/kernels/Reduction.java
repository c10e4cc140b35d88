package dev.granary.demo.kernels;

import dev.granary.gpu.Geometry;
import dev.granary.gpu.opencl.OpenClBuffer;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;

/**
 * Sum, smallest, largest and the first place of the largest of an array of integers, by a tree reduction in two phases (Harris, "Optimizing
 * Parallel Reduction in CUDA").
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

    private static KernelCheckResult check(KernelHarness bench, RandomGenerator random) {
        // Neither a lost zero nor an extra one goes unseen: all values below zero, then all above.
        ResultComparison comparison = new ResultComparison();
        compare(comparison, "below zero", bench, random.ints(COUNT, -2_000, 0));
        compare(comparison, "above zero", bench, random.ints(COUNT, 1, 2_000));
        return comparison.verdict();
    }

    private static void compare(ResultComparison comparison, String what, KernelHarness bench, IntStream numbers) {
        // So few different numbers that the largest occurs more than once: its first place is a question.
        int[] values = numbers.map(number -> number * 1_000_003).toArray();
        int groups = bench.groupsOf("reduce_elements");
        OpenClBuffer summaries = bench.ints(groups * SUMMARY_INTS);
        OpenClBuffer total = bench.ints(SUMMARY_INTS);
        bench.launch("reduce_elements", bench.input(values), COUNT, summaries);
        bench.launch("reduce_groups", summaries, groups, total);
        comparison.ints(what + ": sum, smallest, largest, place", reference(values), KernelHarness.intsOf(total));
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
