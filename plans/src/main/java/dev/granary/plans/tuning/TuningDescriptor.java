package dev.granary.plans.tuning;

import dev.granary.cache.Id;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.Target;

/**
 * The key of a {@link TunedPlan}: a space of plans and a target. Immutable and thread-safe.
 *
 * <p>Stored entries never change. So a better outcome is an entry of its own, with the next
 * revision. Revisions are consecutive from 0, and each one is created by a conditional write.
 */
public final class TuningDescriptor implements PrimitiveDescriptor {
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
                .anyMatch(field -> field.name().equals("kind") && field.text().equals(KIND));
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
        return "tuning of " + space.nest().name() + " among " + space.size() + " points, revision "
                + revision;
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
