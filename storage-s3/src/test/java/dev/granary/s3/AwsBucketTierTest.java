package dev.granary.s3;

import dev.granary.cache.PersistentCache;
import dev.granary.cache.contract.PersistentCacheContract;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.TestS3;

/** The bucket tier through {@link S3ClientLibrary#AWS} as a persistent cache. */
class AwsBucketTierTest extends PersistentCacheContract {
    private final S3Config config =
            TestS3.server().config().client(S3ClientLibrary.AWS).build();

    @Override
    protected PersistentCache openCache() {
        return BucketTier.open(config);
    }
}
