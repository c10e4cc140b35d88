package dev.granary.demo.kernels;

import org.jspecify.annotations.Nullable;

/** Compares results with their references, one array after another, and keeps the first difference. Not thread-safe. */
final class ResultComparison {
    private @Nullable String difference;

    /** Compares floats; what is not a number never agrees. */
    ResultComparison floats(String what, double[] expected, float[] actual, Tolerance tolerance) {
        if (sameLength(what, expected.length, actual.length)) {
            for (int i = 0; i < expected.length; i++) {
                if (!tolerance.allows(expected[i], actual[i])) {
                    return differ(what, i, expected[i], actual[i]);
                }
            }
        }
        return this;
    }

    /** Compares integers exactly. */
    ResultComparison ints(String what, int[] expected, int[] actual) {
        if (sameLength(what, expected.length, actual.length)) {
            for (int i = 0; i < expected.length; i++) {
                if (expected[i] != actual[i]) {
                    return differ(what, i, expected[i], actual[i]);
                }
            }
        }
        return this;
    }

    /** Compares bytes exactly. */
    ResultComparison bytes(String what, byte[] expected, byte[] actual) {
        if (sameLength(what, expected.length, actual.length)) {
            for (int i = 0; i < expected.length; i++) {
                if (expected[i] != actual[i]) {
                    return differ(what, i, Byte.toUnsignedInt(expected[i]), Byte.toUnsignedInt(actual[i]));
                }
            }
        }
        return this;
    }

    /** The outcome of all comparisons. */
    KernelCheckResult verdict() {
        return difference == null ? new KernelCheckResult.Right() : new KernelCheckResult.Wrong(difference);
    }

    private boolean sameLength(String what, int expected, int actual) {
        if (difference == null && expected != actual) {
            difference = what + ": expected " + expected + " elements, got " + actual;
        }
        return difference == null;
    }

    private ResultComparison differ(String what, int index, Object expected, Object actual) {
        difference = what + "[" + index + "]: expected " + expected + ", got " + actual;
        return this;
    }
}
