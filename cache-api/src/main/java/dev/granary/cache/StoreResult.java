package dev.granary.cache;

/** The outcome of {@link PersistentCache#store}. */
public sealed interface StoreResult {
    /**
     * This call stored the entry.
     *
     * @param bytes its stored length in bytes
     */
    record Stored(long bytes) implements StoreResult {}

    /** An entry with the same content is present; nothing was written. */
    record Duplicate() implements StoreResult {}

    /**
     * An entry of another producer with different binaries is present and stays; nothing was
     * written.
     */
    record Divergent() implements StoreResult {}

    /**
     * The store rejects the entry: too large, read-only or not permitted. An early retry is
     * useless.
     *
     * @param reason the reason, for people
     */
    record Refused(String reason) implements StoreResult {}

    /**
     * Nothing was stored; a retry may succeed.
     *
     * @param cause the reason, for people; contains no secret
     */
    record Failed(String cause) implements StoreResult {}

    /**
     * The outcome is unknown because no response arrived. A retry is safe.
     *
     * @param cause the reason, for people; contains no secret
     */
    record Unknown(String cause) implements StoreResult {}

    /** The only instance of {@link Duplicate}. */
    StoreResult DUPLICATE = new Duplicate();

    /** The only instance of {@link Divergent}. */
    StoreResult DIVERGENT = new Divergent();
}
