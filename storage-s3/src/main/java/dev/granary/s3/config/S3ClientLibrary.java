package dev.granary.s3.config;

/** Which client library talks to the bucket. */
public enum S3ClientLibrary {
    /** The AWS SDK for Java 2. */
    AWS,
    /** The MinIO client. */
    MINIO
}
