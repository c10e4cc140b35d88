package dev.granary.benchmarks.bucket.workload;

import java.util.Arrays;

/** Measured values of one kind. Not thread-safe. */
public final class Sample {
    private double[] values = new double[16];
    private int count;

    public void add(double value) {
        if (count == values.length) {
            values = Arrays.copyOf(values, 2 * count);
        }
        values[count++] = value;
    }

    public int count() {
        return count;
    }

    /** Returns the value of that number, in the order of additions. */
    public double get(int index) {
        return values[index];
    }

    /** Returns the median; NaN without values. */
    public double median() {
        return quantile(0.5);
    }

    /** Returns the value below which this part of all values is; NaN without values. */
    public double quantile(double part) {
        if (count == 0) {
            return Double.NaN;
        }
        double[] sorted = Arrays.copyOf(values, count);
        Arrays.sort(sorted);
        return sorted[Math.min(count - 1, (int) (part * count))];
    }

    /**
     * Returns the median of the ratios to {@code other} in the same round. A slow round affects
     * both values, so the ratio does not change.
     */
    public double ratioTo(Sample other) {
        Sample ratios = new Sample();
        for (int i = 0; i < Math.min(count, other.count); i++) {
            ratios.add(values[i] / other.values[i]);
        }
        return ratios.median();
    }
}
