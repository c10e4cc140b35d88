package dev.granary.coordinator.stores;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;

/** The local tier if the capacity is 0: it stores nothing and touches no disk. Thread-safe. */
final class DisabledLocalTier implements PersistentCache {
    @Override
    public LoadResult load(Id id) {
        return LoadResult.ABSENT;
    }

    @Override
    public StoreResult store(Entry entry) {
        return new StoreResult.Refused(
                StoreResult.Scope.STORE, "the local tier is disabled: the capacity is 0");
    }

    @Override
    public void discard(Entry entry) {}

    @Override
    public void close() {}
}
