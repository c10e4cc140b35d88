package dev.granary.testing;

import dev.granary.cache.StoreResult;

/** An assertion about the result of a store. */
public final class StoreResultAssert extends ResultAssert<StoreResultAssert, StoreResult> {
    StoreResultAssert(StoreResult actual) {
        super(actual);
    }

    /** Asserts that this call stored the entry, and returns the stored length in bytes. */
    public long isStored() {
        return is(StoreResult.Stored.class).bytes();
    }

    /** Asserts that an entry with the same content was present. */
    public void isDuplicate() {
        is(StoreResult.Duplicate.class);
    }

    /** Asserts that an entry with other binaries was present. */
    public void isDivergent() {
        is(StoreResult.Divergent.class);
    }

    /** Asserts that this content is present, by this call or an earlier one. */
    public void isStoredOrDuplicate() {
        isOneOf(StoreResult.Stored.class, StoreResult.Duplicate.class);
    }

    /** Asserts that an entry of this id is acknowledged as present, with any content. */
    public void isAcknowledged() {
        isOneOf(StoreResult.Stored.class, StoreResult.Duplicate.class, StoreResult.Divergent.class);
    }

    /** Asserts that the store rejects the entry, and returns the reason. */
    public String isRefused() {
        return is(StoreResult.Refused.class).reason();
    }

    /** Asserts that nothing was stored, and returns the cause. */
    public String isFailed() {
        return is(StoreResult.Failed.class).cause();
    }

    /** Asserts that the outcome is unknown, and returns the cause. */
    public String isUnknown() {
        return is(StoreResult.Unknown.class).cause();
    }
}
