package dev.granary.benchmarks.bucket;

import java.util.Arrays;

/** Measured values of one kind. For one thread. */
final class Sample {
    private double[] values = new double[16];
    private int count;

    void add(double value) {
        if (count == values.length) {
            values = Arrays.copyOf(values, 2 * count);
        }
        values[count++] = value;
    }

    int count() {
        return count;
    }

    /** The value of that number, in the order in which they were added. */
    double get(int index) {
        return values[index];
    }

    /** The median; not a number where there is no value. */
    double median() {
        return quantile(0.5);
    }

    /** The value that this part of all values is below; not a number where there is no value. */
    double quantile(double part) {
        if (count == 0) {
            return Double.NaN;
        }
        double[] sorted = Arrays.copyOf(values, count);
        Arrays.sort(sorted);
        return sorted[Math.min(count - 1, (int) (part * count))];
    }

    /**
     * The median of the ratios to {@code other} in the same round: what slows a whole round down
     * does not count.
     */
    double ratioTo(Sample other) {
        Sample ratios = new Sample();
        for (int i = 0; i < Math.min(count, other.count); i++) {
            ratios.add(values[i] / other.values[i]);
        }
        return ratios.median();
    }
}
