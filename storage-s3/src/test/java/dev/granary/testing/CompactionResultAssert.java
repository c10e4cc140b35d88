package dev.granary.testing;

import dev.granary.s3.pack.compact.PackCompactor;

/** An assertion about the outcome of a compaction. */
public final class CompactionResultAssert
        extends ResultAssert<CompactionResultAssert, PackCompactor.Result> {
    CompactionResultAssert(PackCompactor.Result actual) {
        super(actual);
    }

    /** Asserts that the compaction was carried out, and returns its counts. */
    public PackCompactor.Result.Done isDone() {
        return is(PackCompactor.Result.Done.class);
    }

    /** Asserts that another writer has replaced packs that were to be merged. */
    public void isOvertaken() {
        is(PackCompactor.Result.Overtaken.class);
    }

    /** Asserts that the compaction was not carried out, and returns the cause. */
    public String isFailed() {
        return is(PackCompactor.Result.Failed.class).cause();
    }
}
