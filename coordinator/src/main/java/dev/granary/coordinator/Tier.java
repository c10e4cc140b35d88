package dev.granary.coordinator;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.PersistentCache;
import dev.granary.cache.StoreResult;
import dev.granary.cache.TierStatistics;

/**
 * One place that the look-up asks, with its counters.
 *
 * @param source what a hit here is called
 * @param cache the store
 * @param statistics counts every result
 */
record Tier(Source source, PersistentCache cache, TierStatistics statistics) {
    Tier(Source source, PersistentCache cache) {
        this(source, cache, new TierStatistics());
    }

    LoadResult load(Id id) {
        long start = System.nanoTime();
        return statistics.count(cache.load(id), System.nanoTime() - start);
    }

    StoreResult store(Entry entry) {
        return statistics.count(cache.store(entry));
    }
}
