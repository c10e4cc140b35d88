package dev.granary.s3;

import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.contract.KnownServer;
import dev.granary.s3.contract.ScriptedServer;

/**
 * The object store over {@link S3ClientLibrary#AWS} on Ceph's object gateway; needs its packages.
 */
class CephAwsTransportTest extends TransportContract {
    CephAwsTransportTest() {
        super(ScriptedServer.of(KnownServer.CEPH), S3ClientLibrary.AWS);
    }
}
