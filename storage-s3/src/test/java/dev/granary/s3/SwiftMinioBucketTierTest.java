package dev.granary.s3;

import dev.granary.cache.PersistentCache;
import dev.granary.cache.contract.PersistentCacheContract;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.KnownServer;
import dev.granary.s3.contract.ScriptedServer;

/**
 * The bucket tier over {@link S3ClientLibrary#MINIO} on OpenStack Swift with s3api, which refuses
 * conditional writes; needs its packages.
 */
class SwiftMinioBucketTierTest extends PersistentCacheContract {
    private final S3Config config = ScriptedServer.of(KnownServer.SWIFT)
            .config()
            .client(S3ClientLibrary.MINIO)
            .build();

    @Override
    protected PersistentCache openCache() {
        return BucketTier.open(config);
    }
}
