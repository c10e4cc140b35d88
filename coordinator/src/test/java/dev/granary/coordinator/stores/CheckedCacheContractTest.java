package dev.granary.coordinator.stores;

import dev.granary.cache.PersistentCache;
import dev.granary.cache.contract.InMemoryCache;
import dev.granary.cache.contract.PersistentCacheContract;
import dev.granary.coordinator.TestNode;

/** The contract suite for the view of a plugged cache. */
class CheckedCacheContractTest extends PersistentCacheContract {
    private final InMemoryCache plugged = new InMemoryCache(InMemoryCache.OtherContent.KEEP_FIRST);

    @Override
    protected PersistentCache openCache() {
        return new CheckedCache("plugged", plugged, TestNode.LONG, TestNode.LONG);
    }
}
