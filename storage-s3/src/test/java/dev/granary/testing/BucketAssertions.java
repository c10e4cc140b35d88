package dev.granary.testing;

import com.google.errorprone.annotations.CheckReturnValue;

import dev.granary.s3.pack.format.PackIndex;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.WriteResult;

/** Assertions about the results of a bucket and its packs. */
@CheckReturnValue // an assertion without a call of one of its methods checks nothing
public final class BucketAssertions {
    private BucketAssertions() {}

    /** Returns the assertion about the result of reading an object. */
    public static GetResultAssert assertThat(GetResult actual) {
        return new GetResultAssert(actual);
    }

    /** Returns the assertion about the result of reading the metadata of an object. */
    public static HeadResultAssert assertThat(HeadResult actual) {
        return new HeadResultAssert(actual);
    }

    /** Returns the assertion about the result of a listing. */
    public static ListResultAssert assertThat(ListResult actual) {
        return new ListResultAssert(actual);
    }

    /** Returns the assertion about the result of a write or a deletion. */
    public static WriteResultAssert assertThat(WriteResult actual) {
        return new WriteResultAssert(actual);
    }

    /** Returns the assertion about the result of decoding the index of a pack. */
    public static PackIndexReadAssert assertThat(PackIndex.Read actual) {
        return new PackIndexReadAssert(actual);
    }
}
