package dev.granary.cache.format;

/** How much of a stored entry is checked beyond frame, lengths and key. */
public enum VerificationLevel {
    /** The CRC-32C of every section: for what was verified in full when it came to this machine. */
    CHECKSUMS,
    /** The checksums, and the SHA-256 of the content: for what comes from another machine. */
    CONTENT_HASH
}
