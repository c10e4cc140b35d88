package dev.granary.coordinator;

import dev.granary.cache.Entry;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.cache.TierStatistics;

/**
 * One place that the look-up asks, with its counters.
 *
 * @param cache the store
 * @param statistics counts every result
 * @param lostPacks counts packs that it has lost
 */
record Tier(PersistentCache cache, TierStatistics statistics, LostPackCounter lostPacks) {
    Tier(PersistentCache cache) {
        this(cache, new TierStatistics(), new LostPackCounter());
    }

    StoreResult store(Entry entry) {
        return statistics.count(cache.store(entry));
    }
}
