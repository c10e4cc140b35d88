package dev.granary.testing;

import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.StoreFailure;

/** An assertion about the result of reading the metadata of an object. */
public final class HeadResultAssert extends ResultAssert<HeadResultAssert, HeadResult> {
    HeadResultAssert(HeadResult actual) {
        super(actual);
    }

    /** Asserts that the object exists, and returns its metadata. */
    public HeadResult.Found isFound() {
        return is(HeadResult.Found.class);
    }

    /** Asserts that the object does not exist. */
    public void isAbsent() {
        is(HeadResult.Absent.class);
    }

    /** Asserts that the read failed, and returns the failure. */
    public StoreFailure isUnavailable() {
        return is(HeadResult.Unavailable.class).failure();
    }
}
