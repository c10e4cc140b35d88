package dev.granary.testing;

import dev.granary.s3.pack.PackAnswer;

/** An assertion about the result of a lookup in a target's packs. */
public final class PackAnswerAssert extends ResultAssert<PackAnswerAssert, PackAnswer> {
    PackAnswerAssert(PackAnswer actual) {
        super(actual);
    }

    /** Asserts that the packs decide, and returns the assertion about the result. */
    public LoadResultAssert isFinal() {
        return packed(is(PackAnswer.Final.class));
    }

    /**
     * Asserts that an unpacked entry may exist, and returns the assertion about the result by packs
     * alone.
     */
    public LoadResultAssert isOpen() {
        return packed(is(PackAnswer.Open.class));
    }

    private LoadResultAssert packed(PackAnswer answer) {
        return CacheAssertions.assertThat(answer.packed()).as(message());
    }
}
