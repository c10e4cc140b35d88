package dev.granary.demo.kernels;

import java.util.random.RandomGenerator;

/** Generator of synthetic input data. */
final class SyntheticData {
    private SyntheticData() {}

    /** Returns floats from {@code low}, inclusive, to {@code high}, exclusive. */
    static float[] floats(RandomGenerator random, int count, float low, float high) {
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = random.nextFloat(low, high);
        }
        return values;
    }

    /** Returns integers of the whole range. */
    static int[] ints(RandomGenerator random, int count) {
        return random.ints(count).toArray();
    }

    /** Returns bytes of the whole range. */
    static byte[] bytes(RandomGenerator random, int count) {
        byte[] values = new byte[count];
        random.nextBytes(values);
        return values;
    }
}
