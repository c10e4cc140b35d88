package dev.granary.plans.tuning;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Sha256;
import dev.granary.plans.KernelPlan;
import dev.granary.plans.tuning.PlanTuner.TrialCounts;

import java.time.Duration;
import java.util.List;

/**
 * The best plan of a space on a target, as a primitive: it is cached and shared like a binary.
 * Immutable and thread-safe.
 *
 * @param descriptor the space and the target
 * @param origin compiled if this process has tuned, else restored
 * @param plan the plan
 * @param outcome its measurements
 */
public record TunedPlan(
        TuningDescriptor descriptor, Origin origin, KernelPlan plan, TuningOutcome outcome)
        implements Primitive {
    /** Returns the result of a tuning by this process. */
    static TunedPlan of(TuningDescriptor descriptor, TuningOutcome outcome) {
        return new TunedPlan(
                descriptor,
                Origin.COMPILED,
                descriptor.space().plan(outcome.parameters()),
                outcome);
    }

    /**
     * Returns the plan of stored bytes.
     *
     * @throws RestoreException if they are no outcome, its point is not in the space, or the plan
     *     of the point has another source
     */
    public static TunedPlan restore(TuningDescriptor descriptor, KernelBinaries binaries)
            throws RestoreException {
        if (binaries.count() != 1) {
            throw new RestoreException(
                    "An outcome of a tuning is one binary, not " + binaries.count());
        }
        try {
            TuningOutcome outcome = OutcomeText.decode(binaries.toByteArrays().getFirst());
            KernelPlan plan = descriptor.space().plan(outcome.parameters());
            if (!PlanTuner.sourceHash(plan).equals(outcome.source())) {
                throw new RestoreException("The plan for " + outcome.parameters()
                        + " has another source than the one that was measured");
            }
            return new TunedPlan(descriptor, Origin.RESTORED, plan, outcome);
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw new RestoreException(
                    "A stored outcome of a tuning cannot be used: " + e.getMessage());
        }
    }

    /** Returns this plan under another revision of its key. */
    public TunedPlan revision(int number) {
        return new TunedPlan(descriptor.revision(number), origin, plan, outcome);
    }

    @Override
    public KernelBinaries getBinaries(BinaryKind kind) {
        return kind == BinaryKind.KERNEL && !descriptor.getId().isEmpty()
                ? KernelBinaries.of(OutcomeText.encode(outcome))
                : KernelBinaries.none();
    }

    @Override
    public Duration compileTime() {
        return origin == Origin.COMPILED ? outcome.elapsed() : Duration.ZERO;
    }

    /** Returns a text for people, since an outcome has no kernel. */
    @Override
    public List<String> kernels() {
        return List.of("tuning of " + plan.name());
    }

    @Override
    public List<String> geometries() {
        return List.of();
    }

    @Override
    public void onBinariesComplete(Runnable action) {
        action.run();
    }

    @Override
    public String toString() {
        return plan.name() + " with " + outcome.parameters();
    }

    /**
     * The best plan that a tuning found, with its measurements.
     *
     * <p>Machines differ in load and clock. So outcomes are compared by their ratios: the time of
     * the plan in relation to that of the naive plan, measured in turns.
     *
     * @param parameters the point of the plan
     * @param source the SHA-256 of the source of the plan
     * @param time the median time of a launch
     * @param naiveTime the median time of a launch of the naive plan
     * @param ratioPpb the median of the ratios of both times in each round, in parts per billion
     * @param spreadPpb the uncertainty of this median, in parts per billion: the range of the
     *     middle half of the ratios, divided by the square root of the number of rounds
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
         * Returns true if this plan is faster than {@code other} by more than both spreads. If
         * neither is, the first of two outcomes stays.
         */
        public boolean isBetterThan(TuningOutcome other) {
            return other.ratioPpb - ratioPpb > Math.max(spreadPpb, other.spreadPpb);
        }
    }
}
