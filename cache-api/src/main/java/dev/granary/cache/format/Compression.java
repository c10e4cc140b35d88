package dev.granary.cache.format;

/** Whether sections of an entry are compressed. */
public enum Compression {
    /** All sections as they are: for local disks, where decompressing costs more than reading. */
    NONE,
    /** Zstandard (RFC 8878), level 3, for each section that it makes at least a tenth smaller: for buckets. */
    ZSTD
}
