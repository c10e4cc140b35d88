package dev.granary.cache.format;

/** The compression of an entry's sections. */
public enum Compression {
    /** No compression: for local disks, where decompressing costs more than reading. */
    NONE,
    /**
     * Zstandard (RFC 8878), level 3, for each section that shrinks by at least 10 %: for buckets.
     */
    ZSTD
}
