package dev.granary.s3;

import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.contract.KnownServer;
import dev.granary.s3.contract.ScriptedServer;

/** Ceph's object gateway, where its packages are installed, as an object store through {@link S3ClientLibrary#AWS}. */
class CephAwsTransportTest extends TransportContract {
    CephAwsTransportTest() {
        super(ScriptedServer.of(KnownServer.CEPH), S3ClientLibrary.AWS);
    }
}
