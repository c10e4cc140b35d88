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
     * Something does not.
     *
     * @param cause what is wrong, in one line
     * @param cure what to change, in one line
     */
    record Problem(String cause, String cure) implements Finding {}
}
