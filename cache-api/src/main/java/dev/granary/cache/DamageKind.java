package dev.granary.cache;

/**
 * The reason why stored bytes are not the requested entry. Each is counted as a miss by this reason
 * and is repaired by the next store.
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
     * A format, flag or key schema that is newer than this version supports, or a compression whose
     * library cannot be loaded.
     */
    TOO_NEW,
    /** Larger than the reader accepts or than the available memory. */
    TOO_LARGE
}
