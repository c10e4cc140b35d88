package dev.granary.s3;

import dev.granary.cache.PersistentCache;
import dev.granary.cache.contract.PersistentCacheContract;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.KnownServer;
import dev.granary.s3.contract.ScriptedServer;

import org.junit.jupiter.api.Tag;

/**
 * The bucket tier over {@link S3ClientLibrary#MINIO} on Ceph's object gateway; needs its packages.
 */
@Tag("exhaustive")
class CephMinioBucketTierTest extends PersistentCacheContract {
    private final S3Config config = ScriptedServer.of(KnownServer.CEPH)
            .config()
            .client(S3ClientLibrary.MINIO)
            .build();

    @Override
    protected PersistentCache openCache() {
        return BucketTier.open(config);
    }
}
