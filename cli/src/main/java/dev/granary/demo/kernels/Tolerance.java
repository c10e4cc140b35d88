package dev.granary.demo.kernels;

/**
 * The largest allowed difference of a result from its reference: the absolute part plus the
 * relative part times the magnitude of the reference.
 *
 * @param relative the relative part
 * @param absolute the absolute part
 */
record Tolerance(double relative, double absolute) {
    /** The tolerance that allows no difference. */
    static final Tolerance NONE = new Tolerance(0, 0);

    /**
     * Returns true if {@code actual} is within the tolerance, and false if either value is not
     * finite.
     */
    boolean allows(double expected, double actual) {
        return Double.isFinite(expected)
                && Math.abs(actual - expected) <= absolute + relative * Math.abs(expected);
    }
}
