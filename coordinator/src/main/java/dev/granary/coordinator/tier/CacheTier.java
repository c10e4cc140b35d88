package dev.granary.coordinator.tier;

import dev.granary.cache.Deadline;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;

import java.util.List;

/** A {@link PersistentCache} as a tier: the local tier or a layer. Thread-safe. */
public class CacheTier implements AutoCloseable {
    private final String name;
    private final PersistentCache cache;
    private final boolean isWritable;

    /** Creates a tier. If it is not writable, entries are only loaded. */
    CacheTier(String name, PersistentCache cache, boolean isWritable) {
        this.name = name;
        this.cache = cache;
        this.isWritable = isWritable;
    }

    final String name() {
        return name;
    }

    /** Loads an entry as {@link CountedTier#load} does. */
    LoadResult load(List<Id> ids, Deadline deadline) {
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

    StoreResult store(Entry entry) {
        return isWritable
                ? cache.store(entry)
                : new StoreResult.Refused(
                        StoreResult.Scope.STORE, name + " is configured as read-only");
    }

    void discard(Entry entry) {
        if (isWritable) {
            cache.discard(entry);
        }
    }

    void used(Entry entry) {}

    @Override
    public void close() {
        cache.close();
    }
}
