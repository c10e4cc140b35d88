package dev.granary.benchmarks.harness;

import java.util.Locale;

/**
 * A limit for a figure.
 *
 * @param name the limited figure
 * @param bound the good side of the limit
 * @param limit the limit
 * @param figure the measured value; NaN if it was not measured
 */
public record Goal(String name, Bound bound, double limit, double figure) {
    /** The good side of a limit. */
    public enum Bound {
        /** The limit or less. */
        AT_MOST("<="),
        /** The limit or more. */
        AT_LEAST(">=");

        private final String sign;

        Bound(String sign) {
            this.sign = sign;
        }
    }

    /** Returns true if the figure is on the good side. */
    public boolean isMet() {
        return switch (bound) {
            case AT_MOST -> figure <= limit;
            case AT_LEAST -> figure >= limit;
        };
    }

    /** Returns the outcome: met, not met, or not measured. */
    public String verdict() {
        return Double.isNaN(figure) ? "not measured" : isMet() ? "met" : "not met";
    }

    @Override
    public String toString() {
        String limitText = limit < 10
                ? String.format(Locale.ROOT, "%.2f", limit)
                : String.format(Locale.ROOT, "%.0f", limit);
        return String.format(
                Locale.ROOT,
                "goal: %-44s %s %-5s  %9s  %s",
                name,
                bound.sign,
                limitText,
                Double.isNaN(figure) ? "-" : String.format(Locale.ROOT, "%.3f", figure),
                verdict());
    }
}
