package dev.granary.testing;

import com.google.errorprone.annotations.CheckReturnValue;

import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;

/** Assertions about the results of a {@link dev.granary.cache.PersistentCache}. */
@CheckReturnValue // an assertion without a call of one of its methods checks nothing
public final class CacheAssertions {
    private CacheAssertions() {}

    /** Returns the assertion about the result of a load. */
    public static LoadResultAssert assertThat(LoadResult actual) {
        return new LoadResultAssert(actual);
    }

    /** Returns the assertion about the result of a store. */
    public static StoreResultAssert assertThat(StoreResult actual) {
        return new StoreResultAssert(actual);
    }
}
