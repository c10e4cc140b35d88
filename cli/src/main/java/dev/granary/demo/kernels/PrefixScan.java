package dev.granary.demo.kernels;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;

import java.util.random.RandomGenerator;

/**
 * Exclusive prefix sums modulo 2^32 by Blelloch's two sweeps, over blocks whose sums are scanned in
 * turn.
 */
final class PrefixScan {
    private static final int COUNT = 30_011;
    private static final int BLOCK = 256;
    private static final int BLOCKS = (COUNT + BLOCK - 1) / BLOCK;
    private static final Geometry ALL_BLOCKS = Geometry.of(BLOCKS * BLOCK / 2).local(BLOCK / 2);

    private PrefixScan() {}

    static DemoKernel kernel() {
        return KernelRecipe.of("prefix-scan", "scan.cl")
                .with("-D GROUP=" + BLOCK / 2)
                .launching("scan_blocks", ALL_BLOCKS)
                .launching("scan_sums", Geometry.of(BLOCK / 2).local(BLOCK / 2))
                .launching("add_offsets", ALL_BLOCKS)
                .checkedBy(PrefixScan::check);
    }

    private static KernelCheckResult check(KernelHarness harness, RandomGenerator random) {
        int[] values = SyntheticData.ints(random, COUNT);
        DeviceBuffer scanned = harness.ints(COUNT);
        DeviceBuffer sums = harness.ints(BLOCKS);
        harness.launch("scan_blocks", harness.input(values), scanned, sums, COUNT);
        harness.launch("scan_sums", sums, BLOCKS);
        harness.launch("add_offsets", scanned, sums, COUNT);

        int[] expected = new int[COUNT];
        for (int i = 1; i < COUNT; i++) {
            expected[i] = expected[i - 1] + values[i - 1];
        }
        return new ResultComparison()
                .ints("scan", expected, KernelHarness.intsOf(scanned))
                .result();
    }
}
