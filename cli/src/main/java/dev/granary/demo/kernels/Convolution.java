package dev.granary.demo.kernels;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;

import java.util.random.RandomGenerator;

/**
 * The discrete convolution of an image with a 3 x 3 filter, from tiles with a border (Podlozhnyuk,
 * "Image Convolution with CUDA").
 */
final class Convolution {
    private static final int WIDTH = 150;
    private static final int HEIGHT = 97;

    private Convolution() {}

    static DemoKernel kernel() {
        return KernelRecipe.of("convolution-3x3", "convolution.cl")
                .with("-D TILE_WIDTH=16 -D TILE_HEIGHT=8")
                .launching("convolution", Geometry.of(160, 104).local(16, 8))
                .checkedBy(Convolution::check);
    }

    private static KernelCheckResult check(KernelHarness harness, RandomGenerator random) {
        float[] image = SyntheticData.floats(random, WIDTH * HEIGHT, 0, 1);
        float[] filter = SyntheticData.floats(random, 9, -1, 1);
        DeviceBuffer result = harness.floats(WIDTH * HEIGHT);
        harness.launch(
                "convolution", harness.input(image), harness.input(filter), result, WIDTH, HEIGHT);

        double[] expected = new double[WIDTH * HEIGHT];
        for (int y = 0; y < HEIGHT; y++) {
            for (int x = 0; x < WIDTH; x++) {
                for (int dy = -1; dy <= 1; dy++) {
                    for (int dx = -1; dx <= 1; dx++) {
                        // (f * g)(x, y) = sum of f(dx, dy) g(x - dx, y - dy)
                        expected[y * WIDTH + x] += (double) filter[(dy + 1) * 3 + dx + 1]
                                * nearest(image, x - dx, y - dy);
                    }
                }
            }
        }
        return new ResultComparison()
                .floats(
                        "image",
                        expected,
                        KernelHarness.floatsOf(result),
                        new Tolerance(1e-6, 2e-6))
                .result();
    }

    private static float nearest(float[] image, int x, int y) {
        return image[Math.clamp(y, 0, HEIGHT - 1) * WIDTH + Math.clamp(x, 0, WIDTH - 1)];
    }
}
