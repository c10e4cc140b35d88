package dev.granary.plans.tuning;

/** A receiver of the results of a tuning, called on the thread of the tuner. */
@FunctionalInterface
public interface TuningProgress {
    /**
     * Receives the result of one plan.
     *
     * @param values the point of the plan
     * @param trial the result
     * @param counts the results so far, this one included
     */
    void tried(PlanParameters values, TuningTrial trial, TrialCounts counts);
}
