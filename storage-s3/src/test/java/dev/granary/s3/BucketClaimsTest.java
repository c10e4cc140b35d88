package dev.granary.s3;

import dev.granary.cache.PersistentCache;
import dev.granary.cache.contract.ClaimStoreContract;
import dev.granary.cache.support.ClaimStore;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.MemoryObjectStore;
import dev.granary.testing.TestSeed;
import dev.granary.testing.TestTicker;

/** Contract suite of claims, run on a bucket. */
final class BucketClaimsTest extends ClaimStoreContract {
    private final MemoryObjectStore store = new MemoryObjectStore();
    private final S3Config config = S3Config.builder("bucket").prefix("team").build();

    @Override
    protected PersistentCache openCache() {
        return new BucketTier(
                config, _ -> store, new TestTicker(), TestSeed.random("BucketClaimsTest"));
    }

    @Override
    protected ClaimStore claims(PersistentCache opened) {
        return ((BucketTier) opened).claims();
    }
}
