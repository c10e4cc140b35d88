package dev.granary.cache;

/** The outcome of {@link PersistentCache#load}: a verified entry, or one of three kinds of miss. */
public sealed interface LoadResult {
    /**
     * The entry was there and verified.
     *
     * @param entry the entry
     */
    record Hit(Entry entry) implements LoadResult {}

    /** There is no such entry. */
    record Absent() implements LoadResult {}

    /**
     * There was something, and it is not this entry. None of its bytes may be used.
     *
     * @param damage what is wrong with it
     * @param detail where and how, for people
     */
    record Damaged(DamageKind damage, String detail) implements LoadResult {}

    /**
     * The store could not say: it did not answer in time, refused, or failed.
     *
     * @param cause what happened, for people; holds no secret
     */
    record Unavailable(String cause) implements LoadResult {}

    /** The one {@link Absent}. */
    LoadResult ABSENT = new Absent();
}
