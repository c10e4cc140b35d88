package dev.granary.demo.kernels;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.random.RandomGenerator;

/**
 * Integers in ascending order by Batcher's bitonic sorting network, its short steps in local
 * memory.
 */
final class BitonicSort {
    private static final int COUNT = 3_001;
    private static final int PADDED = 4_096;
    private static final int BLOCK = 256;
    private static final Geometry PAIRS = Geometry.of(PADDED / 2).local(BLOCK / 2);

    private BitonicSort() {}

    static DemoKernel kernel() {
        return KernelRecipe.of("bitonic-sort", "bitonic_sort.cl")
                .with("-D GROUP=" + BLOCK / 2)
                .launching("pad", Geometry.of(PADDED).local(64))
                .launching("sort_blocks", PAIRS)
                .launching("merge_step", PAIRS)
                .launching("merge_blocks", PAIRS)
                .checkedBy(BitonicSort::check);
    }

    private static KernelCheckResult check(KernelHarness harness, RandomGenerator random) {
        int[] values = SyntheticData.ints(random, COUNT);
        Arrays.fill(values, COUNT / 2, COUNT / 2 + 20, values[0]); // with duplicates
        DeviceBuffer sorted = harness.ints(PADDED);
        sorted.writeFrom(MemorySegment.ofArray(values));
        harness.launch("pad", sorted, COUNT);
        harness.launch("sort_blocks", sorted);
        for (int length = 2 * BLOCK; length <= PADDED; length *= 2) {
            for (int distance = length / 2; distance >= BLOCK; distance /= 2) {
                harness.launch("merge_step", sorted, length, distance);
            }
            harness.launch("merge_blocks", sorted, length);
        }

        int[] expected = Arrays.copyOf(values, PADDED);
        Arrays.fill(expected, COUNT, PADDED, Integer.MAX_VALUE);
        Arrays.sort(expected);
        return new ResultComparison()
                .ints("sorted", expected, KernelHarness.intsOf(sorted))
                .result();
    }
}
