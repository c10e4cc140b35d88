package dev.granary.testing;

import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

/** An assertion about the result of a write or a deletion. */
public final class WriteResultAssert extends ResultAssert<WriteResultAssert, WriteResult> {
    WriteResultAssert(WriteResult actual) {
        super(actual);
    }

    /** Asserts that the request succeeded, and returns the new version. */
    public String isDone() {
        return is(WriteResult.Done.class).etag();
    }

    /** Asserts that the condition did not hold. */
    public void isPreconditionFailed() {
        is(WriteResult.PreconditionFailed.class);
    }

    /** Asserts that another request for the key was in progress. */
    public void isConflict() {
        is(WriteResult.Conflict.class);
    }

    /** Asserts that the store refuses the request, and returns the failure. */
    public StoreFailure isNotAllowed() {
        return is(WriteResult.NotAllowed.class).failure();
    }

    /** Asserts that the request was not sent, and returns the failure. */
    public StoreFailure isNotSent() {
        return is(WriteResult.NotSent.class).failure();
    }

    /** Asserts that the write is ambiguous, and returns the failure. */
    public StoreFailure isUnknown() {
        return is(WriteResult.Unknown.class).failure();
    }
}
