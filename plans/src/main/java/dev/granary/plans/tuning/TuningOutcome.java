package dev.granary.plans.tuning;

import dev.granary.cache.Sha256;

import java.time.Duration;

/**
 * The best plan that a tuning found, with its measurements.
 *
 * <p>Machines differ in load and clock. So outcomes are compared by their ratios: the time of the
 * plan in relation to that of the naive plan, measured in turns.
 *
 * @param parameters the point of the plan
 * @param source the SHA-256 of the source of the plan
 * @param time the median time of a launch
 * @param naiveTime the median time of a launch of the naive plan
 * @param ratioPpb the median of the ratios of both times in each round, in parts per billion
 * @param spreadPpb the uncertainty of this median, in parts per billion: the range of the middle
 *     half of the ratios, divided by the square root of the number of rounds
 * @param rounds the number of rounds
 * @param counts the plans with each result
 * @param points the number of points of the space
 * @param seed the seed of the tuning
 * @param elapsed the time that the tuning took
 */
public record TuningOutcome(
        PlanParameters parameters,
        Sha256 source,
        Duration time,
        Duration naiveTime,
        long ratioPpb,
        long spreadPpb,
        int rounds,
        TrialCounts counts,
        int points,
        long seed,
        Duration elapsed) {
    /** The ratio of a plan that takes as long as the naive one, in parts per billion. */
    public static final long ONE = 1_000_000_000;

    /**
     * Checks the numbers.
     *
     * @throws IllegalArgumentException if one is negative, or the ratio or the rounds are zero
     */
    public TuningOutcome {
        if (time.isNegative()
                || naiveTime.isNegative()
                || elapsed.isNegative()
                || ratioPpb <= 0
                || spreadPpb < 0
                || rounds <= 0
                || points <= 0) {
            throw new IllegalArgumentException("A time or number of the outcome is impossible");
        }
    }

    /** Returns the time of the naive plan divided by that of this one. */
    public double speedup() {
        return (double) ONE / ratioPpb;
    }

    /**
     * Returns true if this plan is faster than {@code other} by more than both spreads. If neither
     * is, the first of two outcomes stays.
     */
    public boolean isBetterThan(TuningOutcome other) {
        return other.ratioPpb - ratioPpb > Math.max(spreadPpb, other.spreadPpb);
    }
}
