package dev.granary.plans.tuning;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.RestoreException;
import dev.granary.cache.Sha256;
import dev.granary.cache.Target;
import dev.granary.plans.KernelPlan;
import dev.granary.plans.tuning.PlanSpace.PlanParameters;
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
    static TunedPlan restore(TuningDescriptor descriptor, KernelBinaries binaries)
            throws RestoreException {
        if (binaries.segments().size() != 1) {
            throw new RestoreException("An outcome of a tuning is one binary, not "
                    + binaries.segments().size());
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

    /**
     * The key of a {@link TunedPlan}: a space of plans and a target. Immutable and thread-safe.
     *
     * <p>Stored entries never change. So a better outcome is an entry of its own, with the next
     * revision. Revisions are consecutive from 0, and each one is created by a conditional write.
     */
    public static final class TuningDescriptor implements PrimitiveDescriptor {
        /** The value of the field {@code kind} in keys of outcomes. */
        public static final String KIND = "tuning";

        /** The greatest number of revisions of one outcome. */
        public static final int MAX_REVISIONS = 64;

        private final PlanSpace space;
        private final Target target;
        private final int revision;
        private final Id id;

        private TuningDescriptor(PlanSpace space, Target target, int revision) {
            this.space = space;
            this.target = target;
            this.revision = revision;
            Id.Builder key = Id.builder(target)
                    .field("kind", KIND)
                    .field("problem", space.naive().source());
            space.parameters().forEach((name, values) -> key.field("parameter", name)
                    .field("values", String.join("\n", values)));
            space.constraints().forEach(constraint -> key.field("constraint", constraint));
            this.id = key.field("plans", space.samples().hex())
                    .field("revision", String.valueOf(revision))
                    .build();
        }

        /** Returns true for the id of the outcome of a tuning. */
        public static boolean isTuning(Id id) {
            return id.fields().stream()
                    .anyMatch(
                            field -> field.name().equals("kind") && field.text().equals(KIND));
        }

        /** Returns the key of the first outcome for this space and target. */
        public static TuningDescriptor of(PlanSpace space, Target target) {
            return new TuningDescriptor(space, target, 0);
        }

        /** Returns the key of another revision. */
        public TuningDescriptor revision(int number) {
            return new TuningDescriptor(space, target, number);
        }

        /** Returns the revision, counted from 0. */
        public int revision() {
            return revision;
        }

        /** Returns the space. */
        public PlanSpace space() {
            return space;
        }

        @Override
        public Id getId() {
            return id;
        }

        @Override
        public Target target() {
            return target;
        }

        @Override
        public String name() {
            return space.nest().name();
        }

        @Override
        public String readableKey() {
            return "tuning of " + space.nest().name() + " among " + space.size()
                    + " points, revision " + revision;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof TuningDescriptor that && id.equals(that.id);
        }

        @Override
        public int hashCode() {
            return id.hashCode();
        }

        @Override
        public String toString() {
            return readableKey();
        }
    }
}
