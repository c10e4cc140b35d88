package dev.granary.s3.probe;

/** What a check of a bucket found, one line each. */
public sealed interface BucketFinding {
    /**
     * Something works.
     *
     * @param what what was tried
     */
    record Sound(String what) implements BucketFinding {}

    /**
     * Something is less than it could be; Granary works with it.
     *
     * @param what what was seen, in one line
     * @param advice what follows, and how to get more, in one line
     */
    record Notice(String what, String advice) implements BucketFinding {}

    /**
     * Something does not work.
     *
     * @param cause what is wrong, in one line
     * @param cure what to change, in one line
     */
    record Problem(String cause, String cure) implements BucketFinding {}
}
