package dev.granary.demo.kernels;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.plan.ArrayCache;
import dev.granary.gpu.plan.KernelPlan;
import dev.granary.gpu.plan.MemoryLocation;
import dev.granary.gpu.plan.ParallelAxis;
import dev.granary.gpu.plan.nest.ArrayRole;
import dev.granary.gpu.plan.nest.ElementType;
import dev.granary.gpu.plan.nest.KernelArray;
import dev.granary.gpu.plan.nest.LoopIndex;
import dev.granary.gpu.plan.nest.LoopNest;

import java.util.random.RandomGenerator;

/**
 * A two-dimensional filter as a kernel plan with a hierarchy of caches. A work-group copies a tile
 * of the image with its border to local memory, and each work-item the row that it needs next from
 * there to private memory. The filter is in constant memory.
 */
final class ConvolutionPlan {
    private static final int HEIGHT = 97;
    private static final int WIDTH = 150;
    private static final int TAPS = 5;
    private static final int RESULT_HEIGHT = HEIGHT - TAPS + 1;
    private static final int RESULT_WIDTH = WIDTH - TAPS + 1;

    private ConvolutionPlan() {}

    static DemoKernel kernel() {
        return new PlanKernel("plan-convolution", plan(), ConvolutionPlan::check);
    }

    private static KernelPlan plan() {
        LoopIndex y = LoopIndex.of("y");
        LoopIndex x = LoopIndex.of("x");
        LoopIndex v = LoopIndex.of("v");
        LoopIndex u = LoopIndex.of("u");
        KernelArray image = KernelArray.input("image", ElementType.FLOAT, HEIGHT, WIDTH);
        KernelArray filter =
                KernelArray.of("filter", ArrayRole.CONSTANT, ElementType.FLOAT, TAPS, TAPS);
        KernelArray result =
                KernelArray.inputOutput("result", ElementType.FLOAT, RESULT_HEIGHT, RESULT_WIDTH);
        ArrayCache tile =
                ArrayCache.of(image).index(v).location(MemoryLocation.LOCAL).build();
        return KernelPlan.of(LoopNest.named("convolution")
                        .loop(y, RESULT_HEIGHT)
                        .loop(x, RESULT_WIDTH)
                        .loop(v, TAPS)
                        .loop(u, TAPS)
                        .logic(result.at(y, x)
                                .add(image.at(y.plus(v), x.plus(u)).times(filter.at(v, u))))
                        .schedule()
                        .tile(y.by(8), x.by(16))
                        .reorder(y, x, y.inner(), x.inner(), v, u))
                .bind(y, ParallelAxis.GROUP_Y)
                .bind(x, ParallelAxis.GROUP_X)
                .bind(y.inner(), ParallelAxis.ITEM_Y)
                .bind(x.inner(), ParallelAxis.ITEM_X)
                .cache(tile)
                .cache(ArrayCache.of(tile)
                        .index(u)
                        .location(MemoryLocation.PRIVATE)
                        .build())
                .cache(ArrayCache.of(filter)
                        .index(v)
                        .location(MemoryLocation.CONSTANT)
                        .build())
                .cache(ArrayCache.of(result)
                        .index(v)
                        .location(MemoryLocation.PRIVATE)
                        .build());
    }

    private static KernelCheckResult check(KernelHarness harness, RandomGenerator random) {
        float[] image = SyntheticData.floats(random, HEIGHT * WIDTH, 0, 1);
        float[] filter = SyntheticData.floats(random, TAPS * TAPS, -1, 1);
        float[] before = SyntheticData.floats(random, RESULT_HEIGHT * RESULT_WIDTH, -1, 1);
        DeviceBuffer result = harness.input(before);
        harness.launch("convolution", harness.input(image), harness.input(filter), result);
        double[] expected = new double[before.length];
        for (int y = 0; y < RESULT_HEIGHT; y++) {
            for (int x = 0; x < RESULT_WIDTH; x++) {
                double sum = before[y * RESULT_WIDTH + x];
                for (int v = 0; v < TAPS; v++) {
                    for (int u = 0; u < TAPS; u++) {
                        sum += (double) image[(y + v) * WIDTH + x + u] * filter[v * TAPS + u];
                    }
                }
                expected[y * RESULT_WIDTH + x] = sum;
            }
        }
        return new ResultComparison()
                .floats(
                        "result",
                        expected,
                        KernelHarness.floatsOf(result),
                        new Tolerance(1e-6, 2e-6))
                .result();
    }
}
