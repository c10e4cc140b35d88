package dev.granary.testing;

import dev.granary.s3.pack.compact.CompactionPlan;
import dev.granary.s3.pack.compact.PackCompactor;

/** An assertion about the outcome of planning a compaction. */
public final class CompactionPlanAssert
        extends ResultAssert<CompactionPlanAssert, PackCompactor.Planned> {
    CompactionPlanAssert(PackCompactor.Planned actual) {
        super(actual);
    }

    /** Asserts that the plan was made, and returns it. */
    public CompactionPlan isReady() {
        return is(PackCompactor.Planned.Ready.class).plan();
    }

    /** Asserts that the bucket cannot be read, and returns the cause. */
    public String isUnavailable() {
        return is(PackCompactor.Planned.Unavailable.class).cause();
    }
}
