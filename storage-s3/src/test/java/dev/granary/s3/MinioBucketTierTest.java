package dev.granary.s3;

import dev.granary.cache.PersistentCache;
import dev.granary.cache.contract.PersistentCacheContract;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.TestS3;

/** The bucket tier through {@link S3ClientLibrary#MINIO} as a persistent cache. */
class MinioBucketTierTest extends PersistentCacheContract {
    private final S3Config config =
            TestS3.server().config().client(S3ClientLibrary.MINIO).build();

    @Override
    protected PersistentCache openCache() {
        return BucketTier.open(config);
    }
}
