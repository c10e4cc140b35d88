package dev.granary.cache;

/** The outcome of {@link PersistentCache#load}: a verified entry, or one of three kinds of miss. */
public sealed interface LoadResult {
    /**
     * The entry was found and verified.
     *
     * @param entry the entry
     */
    record Hit(Entry entry) implements LoadResult {}

    /** The store has no such entry. */
    record Absent() implements LoadResult {}

    /**
     * The stored bytes are not this entry. None of them may be used.
     *
     * @param damage the kind of damage
     * @param detail the place and nature of the damage, for people
     */
    record Damaged(DamageKind damage, String detail) implements LoadResult {}

    /**
     * The store did not answer in time, refused or failed.
     *
     * @param cause the reason, for people; contains no secret
     */
    record Unavailable(String cause) implements LoadResult {}

    /** The only instance of {@link Absent}. */
    LoadResult ABSENT = new Absent();
}
