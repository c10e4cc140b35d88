package dev.granary.demo.kernels;

/**
 * How far a result may be from its reference: the absolute part plus the relative part of the reference's magnitude.
 *
 * @param relative the relative part
 * @param absolute the absolute part
 */
record Tolerance(double relative, double absolute) {
    /** No difference at all. */
    static final Tolerance NONE = new Tolerance(0, 0);

    /** True where {@code actual} is near enough; never where one of the two is not finite. */
    boolean allows(double expected, double actual) {
        return Double.isFinite(expected) && Math.abs(actual - expected) <= absolute + relative * Math.abs(expected);
    }
}
