package dev.granary.coordinator.tier;

import dev.granary.cache.Deadline;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;

import java.util.List;

/**
 * A tier from which entries are only loaded: none is stored or discarded there.
 *
 * @param tier the tier
 */
record ReadOnlyTier(Tier tier) implements Tier {
    @Override
    public String name() {
        return tier.name();
    }

    @Override
    public LoadResult load(List<Id> ids, Deadline deadline) {
        return tier.load(ids, deadline);
    }

    @Override
    public StoreResult store(Entry entry) {
        return new StoreResult.Refused(
                StoreResult.Scope.STORE, name() + " is configured as read-only");
    }

    @Override
    public void discard(Entry entry) {}

    @Override
    public void used(Entry entry) {
        tier.used(entry);
    }

    @Override
    public void close() {
        tier.close();
    }
}
