package dev.granary.s3;

/** The transport {@link S3Client#AWS} as an object store. */
class AwsTransportTest extends TransportContract {
    AwsTransportTest() {
        super(S3Client.AWS);
    }
}
