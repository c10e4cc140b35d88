package dev.granary.s3.config;

/** Access of this machine to a bucket. */
public enum S3Access {
    /** Entries are only read; notes of use are written if the credentials may. */
    READ,
    /** Entries are read and published. */
    READ_WRITE
}
