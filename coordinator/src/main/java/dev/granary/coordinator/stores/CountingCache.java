package dev.granary.coordinator.stores;

import dev.granary.cache.Entry;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.cache.TierStatistics;
import dev.granary.coordinator.statistics.LostPackCounter;

/**
 * A tier with its counters.
 *
 * @param cache the tier
 * @param statistics counts every result
 * @param lostPacks counts the packs that the bucket has lost
 */
public record CountingCache(
        PersistentCache cache, TierStatistics statistics, LostPackCounter lostPacks) {
    public CountingCache(PersistentCache cache) {
        this(cache, new TierStatistics(), new LostPackCounter());
    }

    public StoreResult store(Entry entry) {
        return statistics.count(cache.store(entry));
    }
}
