package dev.granary.s3;

/** Which client library talks to the bucket. */
public enum S3Client {
    /** The AWS SDK for Java 2. */
    AWS,
    /** The MinIO client. */
    MINIO
}
