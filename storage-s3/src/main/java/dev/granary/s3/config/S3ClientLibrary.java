package dev.granary.s3.config;

/** Client library for S3 requests. */
public enum S3ClientLibrary {
    /** The AWS SDK for Java 2. */
    AWS,
    /** The MinIO client. */
    MINIO
}
