package dev.granary.demo.kernels;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.Arrays;

/** Tests that every difference from the reference is detected. */
class ResultComparisonTest {
    private static final Tolerance TOLERANCE = new Tolerance(1e-6, 1e-6);

    private final float[] actual = SyntheticData.floats(TestSeed.random("comparison"), 50, 1, 2);
    private final double[] expected = widened(actual);

    @Test
    @DisplayName("Equal arrays and differences within the tolerance are right")
    void right() {
        actual[7] = Math.nextUp(actual[7]);
        KernelCheckResult result = new ResultComparison()
                .floats("floats", expected, actual, TOLERANCE)
                .ints("ints", new int[] {1, 2}, new int[] {1, 2})
                .bytes("bytes", new byte[] {-1}, new byte[] {-1})
                .result();
        assertEquals(new KernelCheckResult.Right(), result);
    }

    @ParameterizedTest
    @ValueSource(
            floats = {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY, 0, -1.5f, 3})
    @DisplayName(
            "Wrong floats, NaN and values that were never written are wrong, at the first and the"
                    + " last position")
    void wrongFloat(float wrong) {
        for (int place : new int[] {0, actual.length - 1}) {
            float[] damaged = actual.clone();
            damaged[place] = wrong;
            assertWrong(
                    "x[" + place + "]: expected " + expected[place] + ", got " + wrong,
                    new ResultComparison().floats("x", expected, damaged, TOLERANCE));
        }
    }

    @Test
    @DisplayName("Elements shifted by one position are wrong")
    void moved() {
        float[] shifted = new float[actual.length];
        System.arraycopy(actual, 1, shifted, 0, actual.length - 1);
        shifted[actual.length - 1] = actual[0];
        assertInstanceOf(
                KernelCheckResult.Wrong.class,
                new ResultComparison().floats("x", expected, shifted, TOLERANCE).result());
    }

    @Test
    @DisplayName("Values that are not finite agree with nothing, not even with themselves")
    void notFinite() {
        for (double strange :
                new double[] {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY}) {
            assertWrong(
                    "x[0]: expected " + strange + ", got " + (float) strange,
                    new ResultComparison()
                            .floats(
                                    "x",
                                    new double[] {strange},
                                    new float[] {(float) strange},
                                    TOLERANCE));
            assertWrong(
                    "x[0]: expected " + strange + ", got 1.0",
                    new ResultComparison()
                            .floats("x", new double[] {strange}, new float[] {1}, TOLERANCE));
        }
    }

    @Test
    @DisplayName("Without tolerance the smallest difference is wrong")
    void exact() {
        actual[3] = Math.nextDown(actual[3]);
        assertInstanceOf(
                KernelCheckResult.Wrong.class,
                new ResultComparison()
                        .floats("x", expected, actual, Tolerance.NONE)
                        .result());
    }

    @Test
    @DisplayName("One wrong integer or byte is wrong, bytes are printed as unsigned")
    void wrongInteger() {
        assertWrong(
                "x[1]: expected 2, got 3",
                new ResultComparison().ints("x", new int[] {1, 2}, new int[] {1, 3}));
        assertWrong(
                "x[1]: expected 254, got 255",
                new ResultComparison().bytes("x", new byte[] {1, -2}, new byte[] {1, -1}));
    }

    @Test
    @DisplayName("A result of another length is wrong")
    void wrongLength() {
        assertWrong(
                "x: expected 50 elements, got 49",
                new ResultComparison().floats("x", expected, Arrays.copyOf(actual, 49), TOLERANCE));
        assertWrong(
                "x: expected 1 elements, got 0",
                new ResultComparison().ints("x", new int[1], new int[0]));
        assertWrong(
                "x: expected 0 elements, got 1",
                new ResultComparison().bytes("x", new byte[0], new byte[1]));
    }

    @Test
    @DisplayName("The first difference is kept, whatever is compared after it")
    void firstStays() {
        ResultComparison comparison = new ResultComparison()
                .ints("first", new int[] {5}, new int[] {6})
                .ints("second", new int[] {7}, new int[] {8})
                .ints("third", new int[] {9}, new int[] {9});
        assertWrong("first[0]: expected 5, got 6", comparison);
    }

    private static void assertWrong(String difference, ResultComparison comparison) {
        assertEquals(new KernelCheckResult.Wrong(difference), comparison.result());
    }

    private static double[] widened(float[] values) {
        double[] wide = new double[values.length];
        for (int i = 0; i < values.length; i++) {
            wide[i] = values[i];
        }
        return wide;
    }
}
