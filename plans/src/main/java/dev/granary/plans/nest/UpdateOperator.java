package dev.granary.plans.nest;

/** The way in which a statement changes its target. */
public enum UpdateOperator {
    /** {@code target = value}. */
    SET("="),
    /** {@code target += value}. */
    ADD("+="),
    /** {@code target *= value}. */
    MULTIPLY("*="),
    /** {@code target = min(target, value)}. */
    MIN("min="),
    /** {@code target = max(target, value)}. */
    MAX("max=");

    private final String text;

    UpdateOperator(String text) {
        this.text = text;
    }

    /** Returns the operator as plan files have it. */
    @Override
    public String toString() {
        return text;
    }
}
