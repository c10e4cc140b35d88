package dev.granary.plans.tuning;

/**
 * The number of plans with each result.
 *
 * @param measured right results, measured several times
 * @param slow right results, but too slow for further measurements
 * @param unsuitable no plan, or beyond a limit of the device
 * @param refused not compiled or launched by the driver
 * @param wrong results that differ from those of the naive plan
 */
public record TrialCounts(int measured, int slow, int unsuitable, int refused, int wrong) {
    static final TrialCounts NONE = new TrialCounts(0, 0, 0, 0, 0);

    /**
     * Checks the numbers.
     *
     * @throws IllegalArgumentException if one is negative
     */
    public TrialCounts {
        if (Math.min(Math.min(measured, slow), Math.min(Math.min(unsuitable, refused), wrong))
                < 0) {
            throw new IllegalArgumentException("A number of plans is negative");
        }
    }

    /** Returns the number of plans that were tried. */
    public int tried() {
        return measured + slow + unsuitable + refused + wrong;
    }

    TrialCounts plus(TuningTrial trial) {
        return switch (trial) {
            case TuningTrial.Measured _ ->
                new TrialCounts(measured + 1, slow, unsuitable, refused, wrong);
            case TuningTrial.Slow _ ->
                new TrialCounts(measured, slow + 1, unsuitable, refused, wrong);
            case TuningTrial.Unsuitable _ ->
                new TrialCounts(measured, slow, unsuitable + 1, refused, wrong);
            case TuningTrial.Refused _ ->
                new TrialCounts(measured, slow, unsuitable, refused + 1, wrong);
            case TuningTrial.Wrong _ ->
                new TrialCounts(measured, slow, unsuitable, refused, wrong + 1);
        };
    }

    /** Returns text such as {@code 40 measured, 3 slow, 12 unsuitable, 0 refused, 0 wrong}. */
    @Override
    public String toString() {
        return measured + " measured, " + slow + " slow, " + unsuitable + " unsuitable, " + refused
                + " refused, " + wrong + " wrong";
    }
}
