package com.example.sky;

import java.util.Arrays;

/** The same steps on the processor, to check the results. */
final class Expected {
    private static final int WIDTH = Pipeline.WIDTH;
    private static final int HEIGHT = Pipeline.HEIGHT;

    private Expected() {}

    /** The value of a pixel of the result. */
    private interface Pixel {
        float at(int x, int y);
    }

    private static float[] image(Pixel pixel) {
        float[] image = new float[WIDTH * HEIGHT];
        for (int i = 0; i < image.length; i++) {
            image[i] = pixel.at(i % WIDTH, i / WIDTH);
        }
        return image;
    }

    /** Returns a pixel; beyond the edge it is repeated. */
    private static float at(float[] image, int x, int y) {
        return image[Math.clamp(y, 0, HEIGHT - 1) * WIDTH + Math.clamp(x, 0, WIDTH - 1)];
    }

    static float[] process(float[] raw, float[] dark, float[] flat) {
        float[] calibrated = image((x, y) ->
                Math.max(at(raw, x, y) - at(dark, x, y), 0) / Math.max(at(flat, x, y), 0.1f));
        float[] smooth = image((x, y) -> median(calibrated, x, y));
        float[] sharp = image((x, y) ->
                1.5f * at(smooth, x, y) - 0.5f * sum(smooth, x, y, Expected::binomial) / 16);
        float[] shifted = image((x, y) ->
                0.25f * (0.75f * at(sharp, x, y) + 0.25f * at(sharp, x + 1, y))
                        + 0.75f * (0.75f * at(sharp, x, y + 1) + 0.25f * at(sharp, x + 1, y + 1)));
        float[] curved = image((x, y) -> {
            float value = Math.clamp((at(shifted, WIDTH - 1 - x, y) - 0.1f) / 1.1f, 0f, 1f);
            return value * value * (3 - 2 * value);
        });
        return image((x, y) -> {
            float across = sum(curved, x, y, (dx, dy) -> dx * (2 - Math.abs(dy)));
            float along = sum(curved, x, y, (dx, dy) -> dy * (2 - Math.abs(dx)));
            return 0.75f * at(curved, x, y) + 0.25f * (float) Math.hypot(across, along);
        });
    }

    private static float binomial(int dx, int dy) {
        return (2 - Math.abs(dx)) * (2 - Math.abs(dy));
    }

    private static float sum(float[] image, int x, int y, Pixel weight) {
        float sum = 0;
        for (int i = 0; i < 9; i++) {
            int dx = i % 3 - 1;
            int dy = i / 3 - 1;
            sum += weight.at(dx, dy) * at(image, x + dx, y + dy);
        }
        return sum;
    }

    private static float median(float[] image, int x, int y) {
        float[] values = new float[9];
        for (int i = 0; i < 9; i++) {
            values[i] = at(image, x + i % 3 - 1, y + i / 3 - 1);
        }
        Arrays.sort(values);
        return values[4];
    }
}
