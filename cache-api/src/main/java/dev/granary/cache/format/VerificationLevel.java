package dev.granary.cache.format;

/** The extent of verification beyond header, lengths and key. */
public enum VerificationLevel {
    /**
     * The CRC-32C of every section: for entries verified in full when they arrived on this machine.
     */
    CHECKSUMS,
    /** The checksums and the SHA-256 of the content: for entries from another machine. */
    CONTENT_HASH
}
