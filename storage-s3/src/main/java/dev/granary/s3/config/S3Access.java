package dev.granary.s3.config;

/** What this machine does with a bucket. */
public enum S3Access {
    /** Entries are read, and nothing is ever written. */
    READ,
    /** Entries are read and published. */
    READ_WRITE
}
