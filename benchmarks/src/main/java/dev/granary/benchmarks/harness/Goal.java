package dev.granary.benchmarks.harness;

import java.util.Locale;

/**
 * What is to be reached.
 *
 * @param name what is limited
 * @param bound on which side of the limit is good
 * @param limit the limit
 * @param figure what was measured; not a number where it was not
 */
public record Goal(String name, Bound bound, double limit, double figure) {
    /** A side of a limit. */
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

    /** True where the figure is on the good side. */
    public boolean isMet() {
        return switch (bound) {
            case AT_MOST -> figure <= limit;
            case AT_LEAST -> figure >= limit;
        };
    }

    /** Met, not met, or not measured. */
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
