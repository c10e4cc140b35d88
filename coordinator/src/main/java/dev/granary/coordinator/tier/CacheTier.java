package dev.granary.coordinator.tier;

import dev.granary.cache.Deadline;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;

import java.util.List;

/**
 * A {@link PersistentCache} as a tier.
 *
 * @param name the name of the tier
 * @param cache the cache, which is closed with the tier
 * @param isWritable false if entries are only loaded: none is stored or discarded there
 */
public record CacheTier(String name, PersistentCache cache, boolean isWritable) implements Tier {
    @Override
    public LoadResult load(List<Id> ids, Deadline deadline) {
        LoadResult first = cache.load(ids.getFirst(), deadline);
        for (Id other : ids.subList(1, ids.size())) {
            if (first instanceof LoadResult.Hit
                    || first instanceof LoadResult.Unavailable
                    || deadline.isOver()) {
                return first;
            }
            LoadResult found = cache.load(other, deadline);
            if (found instanceof LoadResult.Hit) {
                return found;
            }
            if (found instanceof LoadResult.Unavailable) {
                return first instanceof LoadResult.Damaged ? first : found;
            }
        }
        return first;
    }

    @Override
    public StoreResult store(Entry entry) {
        return isWritable
                ? cache.store(entry)
                : new StoreResult.Refused(
                        StoreResult.Scope.STORE, name + " is configured as read-only");
    }

    @Override
    public void discard(Entry entry) {
        if (isWritable) {
            cache.discard(entry);
        }
    }

    @Override
    public void close() {
        cache.close();
    }
}
