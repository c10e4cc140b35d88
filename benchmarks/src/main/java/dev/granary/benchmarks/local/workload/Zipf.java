package dev.granary.benchmarks.local.workload;

import java.util.Arrays;
import java.util.SplittableRandom;

/**
 * Random ranks 0 to n - 1 by Zipf's law with exponent 0.9; rank 0 is the most frequent. Not
 * thread-safe.
 */
public final class Zipf {
    private static final double EXPONENT = 0.9;

    private final double[] cumulative;
    private final SplittableRandom random;

    public Zipf(int ranks, SplittableRandom random) {
        this.cumulative = new double[ranks];
        this.random = random;
        double sum = 0;
        for (int i = 0; i < ranks; i++) {
            sum += Math.pow(i + 1, -EXPONENT);
            cumulative[i] = sum;
        }
    }

    public int next() {
        int found = Arrays.binarySearch(
                cumulative, random.nextDouble() * cumulative[cumulative.length - 1]);
        return Math.min(cumulative.length - 1, found < 0 ? -found - 1 : found);
    }
}
