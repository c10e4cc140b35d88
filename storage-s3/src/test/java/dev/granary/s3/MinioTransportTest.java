package dev.granary.s3;

/** The transport {@link S3Client#MINIO} as an object store. */
class MinioTransportTest extends TransportContract {
    MinioTransportTest() {
        super(S3Client.MINIO);
    }
}
