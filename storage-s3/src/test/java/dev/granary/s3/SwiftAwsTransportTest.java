package dev.granary.s3;

import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.contract.KnownServer;
import dev.granary.s3.contract.ScriptedServer;

/**
 * The object store over {@link S3ClientLibrary#AWS} on OpenStack Swift with s3api, which refuses
 * conditional writes; needs its packages.
 */
class SwiftAwsTransportTest extends TransportContract {
    SwiftAwsTransportTest() {
        super(ScriptedServer.of(KnownServer.SWIFT), S3ClientLibrary.AWS);
    }
}
