package dev.granary.cache;

/** Why stored bytes are not the entry that was asked for. Each is a miss, counted by this reason, and healed by the next store. */
public enum DamageKind {
    /** Fewer bytes than the frame says, or none. */
    TRUNCATED,
    /** More bytes than the frame says. */
    EXTENDED,
    /** A checksum or a length does not fit. */
    CORRUPT,
    /** Not an entry at all: another file, an error page. */
    FOREIGN,
    /** A sound entry, of another id. */
    WRONG_KEY,
    /** A format older than this version reads. */
    TOO_OLD,
    /** A format, a flag or a key's schema newer than this version knows, or packed with a library that cannot be loaded here. */
    TOO_NEW,
    /** Larger than the reader accepts, or has memory for. */
    TOO_LARGE
}
