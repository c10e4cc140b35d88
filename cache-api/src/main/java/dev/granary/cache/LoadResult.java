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

    /**
     * The reason why stored bytes are not the requested entry. Each is counted as a miss by this
     * reason and is repaired by the next store.
     */
    public enum DamageKind {
        /** Fewer bytes than the header declares, or none. */
        TRUNCATED,
        /** More bytes than the header declares. */
        EXTENDED,
        /** A checksum or a length does not match. */
        CORRUPT,
        /** Not an entry, but for example another file or an error page. */
        FOREIGN,
        /** A sound entry of another id. */
        WRONG_KEY,
        /** A format that is older than this version reads. */
        TOO_OLD,
        /**
         * A format, flag or key schema that is newer than this version supports, or a compression
         * whose library cannot be loaded.
         */
        TOO_NEW,
        /** A sound entry without a signature that the place requires. */
        UNTRUSTED,
        /** Larger than the reader accepts or than the available memory. */
        TOO_LARGE
    }
}
