package dev.granary.testing;

import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.StoreFailure;

/** An assertion about the result of a listing. */
public final class ListResultAssert extends ResultAssert<ListResultAssert, ListResult> {
    ListResultAssert(ListResult actual) {
        super(actual);
    }

    /** Asserts that all objects were passed on, and returns their number. */
    public long isComplete() {
        return is(ListResult.Complete.class).objects();
    }

    /** Asserts that the listing ended early, and returns the failure. */
    public StoreFailure isUnavailable() {
        return is(ListResult.Unavailable.class).failure();
    }
}
