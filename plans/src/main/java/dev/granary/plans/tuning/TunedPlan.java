package dev.granary.plans.tuning;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.plans.KernelPlan;

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
}
