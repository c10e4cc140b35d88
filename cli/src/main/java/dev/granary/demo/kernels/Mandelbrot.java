package dev.granary.demo.kernels;

import dev.granary.gpu.DeviceBuffer;
import dev.granary.gpu.Geometry;

import java.util.random.RandomGenerator;

/**
 * Escape times of points outside the Mandelbrot set, by the escape-time algorithm (Peitgen and
 * Richter, "The Beauty of Fractals").
 */
final class Mandelbrot {
    private static final int WIDTH = 90;
    private static final int HEIGHT = 61;
    private static final int LIMIT = 50;

    private Mandelbrot() {}

    static DemoKernel kernel() {
        return KernelRecipe.of("mandelbrot", "mandelbrot.cl")
                .with("-D LIMIT=" + LIMIT)
                .launching("mandelbrot", Geometry.of(96, 64).local(16, 8))
                .checkedBy(Mandelbrot::check);
    }

    private static KernelCheckResult check(KernelHarness harness, RandomGenerator random) {
        float left = random.nextFloat(-2.2f, -2);
        float top = random.nextFloat(1, 1.2f);
        float pitch = random.nextFloat(0.03f, 0.035f);
        DeviceBuffer steps = harness.ints(WIDTH * HEIGHT);
        harness.launch("mandelbrot", steps, WIDTH, HEIGHT, left, top, pitch);

        int[] expected = new int[WIDTH * HEIGHT];
        for (int row = 0; row < HEIGHT; row++) {
            for (int column = 0; column < WIDTH; column++) {
                expected[row * WIDTH + column] =
                        steps(Math.fma(column, pitch, left), Math.fma(row, -pitch, top));
            }
        }
        return new ResultComparison()
                .ints("steps", expected, KernelHarness.intsOf(steps))
                .result();
    }

    /**
     * Counts in floats, with fused operations where the kernel has them: near the boundary of the
     * set every other rounding changes the counts.
     */
    private static int steps(float real, float imaginary) {
        float x = 0;
        float y = 0;
        for (int step = 0; step < LIMIT; step++) {
            if (Math.fma(x, x, y * y) > 4) {
                return step;
            }
            float nextX = Math.fma(x, x, Math.fma(-y, y, real));
            y = Math.fma(2 * x, y, imaginary);
            x = nextX;
        }
        return LIMIT;
    }
}
