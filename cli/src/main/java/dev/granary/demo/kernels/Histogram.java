package dev.granary.demo.kernels;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;

import java.util.random.RandomGenerator;

/**
 * Counts of each byte value: each group makes a histogram in local memory, and these are then added
 * (Podlozhnyuk, "Histogram calculation in CUDA").
 */
final class Histogram {
    private static final int COUNT = 40_009;
    private static final int BINS = 256;

    private Histogram() {}

    static DemoKernel kernel() {
        return KernelRecipe.of("histogram", "histogram.cl")
                .with("-D BINS=" + BINS)
                .launching("histogram_groups", Geometry.of(1_536).local(64))
                .launching("histogram_merge", Geometry.of(BINS).local(32))
                .checkedBy(Histogram::check);
    }

    private static KernelCheckResult check(KernelHarness harness, RandomGenerator random) {
        byte[] values = SyntheticData.bytes(random, COUNT);
        for (int i = 0; i < COUNT; i += 3) {
            values[i] = (byte) 200; // one bin that all groups contend for
        }
        int groups = harness.groupsOf("histogram_groups");
        DeviceBuffer histograms = harness.ints(groups * BINS);
        DeviceBuffer histogram = harness.ints(BINS);
        harness.launch("histogram_groups", harness.input(values), COUNT, histograms);
        harness.launch("histogram_merge", histograms, groups, histogram);

        int[] expected = new int[BINS];
        for (byte value : values) {
            expected[Byte.toUnsignedInt(value)]++;
        }
        return new ResultComparison()
                .ints("bin", expected, KernelHarness.intsOf(histogram))
                .result();
    }
}
