package dev.granary.s3.probe;

/** Finding of a bucket check, one line each. */
public sealed interface BucketFinding {
    /**
     * A check that succeeded.
     *
     * @param what the subject of the check
     */
    record Sound(String what) implements BucketFinding {}

    /**
     * A limitation; Granary works with it.
     *
     * @param what the observation, in one line
     * @param advice the consequence and the remedy, in one line
     */
    record Notice(String what, String advice) implements BucketFinding {}

    /**
     * A check that failed.
     *
     * @param cause the reason, in one line
     * @param cure the remedy, in one line
     */
    record Problem(String cause, String cure) implements BucketFinding {}
}
