package dev.granary.s3;

import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.contract.TestS3;

/** The transport {@link S3ClientLibrary#AWS} as an object store. */
class AwsTransportTest extends TransportContract {
    AwsTransportTest() {
        super(TestS3.server(), S3ClientLibrary.AWS);
    }
}
