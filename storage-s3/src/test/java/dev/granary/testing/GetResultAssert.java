package dev.granary.testing;

import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.StoreFailure;

/** An assertion about the result of reading an object. */
public final class GetResultAssert extends ResultAssert<GetResultAssert, GetResult> {
    GetResultAssert(GetResult actual) {
        super(actual);
    }

    /** Asserts that the object was read, and returns it. */
    public GetResult.Found isFound() {
        return is(GetResult.Found.class);
    }

    /** Asserts that the object does not exist. */
    public void isAbsent() {
        is(GetResult.Absent.class);
    }

    /** Asserts that the object is longer than the limit, and returns the limit in bytes. */
    public long isTooLarge() {
        return is(GetResult.TooLarge.class).limit();
    }

    /** Asserts that the read failed, and returns the failure. */
    public StoreFailure isUnavailable() {
        return is(GetResult.Unavailable.class).failure();
    }
}
