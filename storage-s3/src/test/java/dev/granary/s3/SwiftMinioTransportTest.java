package dev.granary.s3;

import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.contract.KnownServer;
import dev.granary.s3.contract.ScriptedServer;

/** OpenStack Swift with s3api, where its packages are installed: a server without conditional writes, as an object store through {@link S3ClientLibrary#MINIO}. */
class SwiftMinioTransportTest extends TransportContract {
    SwiftMinioTransportTest() {
        super(ScriptedServer.of(KnownServer.SWIFT), S3ClientLibrary.MINIO);
    }
}
