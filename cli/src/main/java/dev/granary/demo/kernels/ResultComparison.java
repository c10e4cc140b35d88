package dev.granary.demo.kernels;

import org.jspecify.annotations.Nullable;

/**
 * Comparison of arrays of results with their references, which records the first difference. Not
 * thread-safe.
 */
final class ResultComparison {
    private @Nullable String difference;

    /** Compares floats. NaN differs from everything. */
    ResultComparison floats(String label, double[] expected, float[] actual, Tolerance tolerance) {
        if (sameLength(label, expected.length, actual.length)) {
            for (int i = 0; i < expected.length; i++) {
                if (!tolerance.allows(expected[i], actual[i])) {
                    return differ(label, i, expected[i], actual[i]);
                }
            }
        }
        return this;
    }

    /** Compares integers exactly. */
    ResultComparison ints(String label, int[] expected, int[] actual) {
        if (sameLength(label, expected.length, actual.length)) {
            for (int i = 0; i < expected.length; i++) {
                if (expected[i] != actual[i]) {
                    return differ(label, i, expected[i], actual[i]);
                }
            }
        }
        return this;
    }

    /** Compares bytes exactly. */
    ResultComparison bytes(String label, byte[] expected, byte[] actual) {
        if (sameLength(label, expected.length, actual.length)) {
            for (int i = 0; i < expected.length; i++) {
                if (expected[i] != actual[i]) {
                    return differ(
                            label,
                            i,
                            Byte.toUnsignedInt(expected[i]),
                            Byte.toUnsignedInt(actual[i]));
                }
            }
        }
        return this;
    }

    /** Returns the result of all comparisons. */
    KernelCheckResult result() {
        return difference == null
                ? new KernelCheckResult.Right()
                : new KernelCheckResult.Wrong(difference);
    }

    private boolean sameLength(String label, int expected, int actual) {
        if (difference == null && expected != actual) {
            difference = label + ": expected " + expected + " elements, got " + actual;
        }
        return difference == null;
    }

    private ResultComparison differ(String label, int index, Object expected, Object actual) {
        difference = label + "[" + index + "]: expected " + expected + ", got " + actual;
        return this;
    }
}
