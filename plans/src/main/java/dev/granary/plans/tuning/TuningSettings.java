package dev.granary.plans.tuning;

import java.time.Duration;

/**
 * The limits of a tuning.
 *
 * @param budget the time after which no further plan is tried; the last measurements follow it
 * @param seed decides the order of the plans and the content of the arrays
 * @param rounds the number of rounds in which the best plans are measured in turns at the end
 * @param patience the number of plans without an improvement after which no further one is tried
 */
public record TuningSettings(Duration budget, long seed, int rounds, int patience) {
    private static final int ROUNDS = 9;
    private static final int PATIENCE = 400;

    /**
     * Checks the limits.
     *
     * @throws IllegalArgumentException if one is not positive
     */
    public TuningSettings {
        if (budget.isNegative() || budget.isZero()) {
            throw new IllegalArgumentException("The budget must be positive, not " + budget);
        }
        if (rounds <= 0 || patience <= 0) {
            throw new IllegalArgumentException(
                    "Rounds and patience must be positive, not " + rounds + " and " + patience);
        }
    }

    /** Returns settings with this budget and seed, 9 rounds and a patience of 400 plans. */
    public static TuningSettings of(Duration budget, long seed) {
        return new TuningSettings(budget, seed, ROUNDS, PATIENCE);
    }

    /** Returns these settings with another patience. */
    public TuningSettings patience(int plans) {
        return new TuningSettings(budget, seed, rounds, plans);
    }

    /** Returns these settings with another number of rounds. */
    public TuningSettings rounds(int number) {
        return new TuningSettings(budget, seed, number, patience);
    }
}
