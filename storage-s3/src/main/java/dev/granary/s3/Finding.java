package dev.granary.s3;

/** What a check of a bucket found, one line each. */
public sealed interface Finding {
    /**
     * Something works.
     *
     * @param what what was tried
     */
    record Sound(String what) implements Finding {}

    /**
     * Something is less than it could be; Granary works with it.
     *
     * @param what what was seen, in one line
     * @param advice what follows, and how to get more, in one line
     */
    record Notice(String what, String advice) implements Finding {}

    /**
     * Something does not work.
     *
     * @param cause what is wrong, in one line
     * @param cure what to change, in one line
     */
    record Problem(String cause, String cure) implements Finding {}
}
