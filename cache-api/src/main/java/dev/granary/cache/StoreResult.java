package dev.granary.cache;

/** The outcome of {@link PersistentCache#store}. */
public sealed interface StoreResult {
    /**
     * The entry is stored, by this call.
     *
     * @param bytes its length as stored
     */
    record Stored(long bytes) implements StoreResult {}

    /** An entry with the same content was there; nothing was written. */
    record Duplicate() implements StoreResult {}

    /** Another producer's entry with different binaries was there; it stays, nothing was written. */
    record Divergent() implements StoreResult {}

    /**
     * The store does not take it: too large, read-only, not allowed. Trying again soon is of no use.
     *
     * @param reason why, for people
     */
    record Refused(String reason) implements StoreResult {}

    /**
     * Nothing was stored; a later try may succeed.
     *
     * @param cause what happened, for people; holds no secret
     */
    record Failed(String cause) implements StoreResult {}

    /**
     * It may be stored or not: the answer never came. A later try is safe.
     *
     * @param cause what happened, for people; holds no secret
     */
    record Unknown(String cause) implements StoreResult {}

    /** The one {@link Duplicate}. */
    StoreResult DUPLICATE = new Duplicate();

    /** The one {@link Divergent}. */
    StoreResult DIVERGENT = new Divergent();
}
