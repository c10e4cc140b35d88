package dev.granary.s3;

import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.contract.KnownServer;
import dev.granary.s3.contract.ScriptedServer;

import org.junit.jupiter.api.Tag;

/**
 * The object store over {@link S3ClientLibrary#MINIO} on Ceph's object gateway; needs its packages.
 */
@Tag("exhaustive")
class CephMinioTransportTest extends TransportContract {
    CephMinioTransportTest() {
        super(ScriptedServer.of(KnownServer.CEPH), S3ClientLibrary.MINIO);
    }
}
