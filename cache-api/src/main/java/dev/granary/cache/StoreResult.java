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
     * The store rejects the entry. An early retry is useless.
     *
     * @param scope the scope of the refusal
     * @param reason the reason, for people
     */
    record Refused(Scope scope, String reason) implements StoreResult {}

    /** The scope of a refusal. */
    enum Scope {
        /** This entry, such as one that is too large: it is refused each time. */
        ENTRY,
        /** Any entry, such as in a read-only store; this may change. */
        STORE
    }

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
