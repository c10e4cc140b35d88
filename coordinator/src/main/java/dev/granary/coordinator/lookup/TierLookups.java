package dev.granary.coordinator.lookup;

import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.coordinator.stores.CountingCache;

import org.jspecify.annotations.Nullable;

/**
 * Repeated loads of one id from one tier, counted as one result: the hit, else the first result.
 * For one thread.
 */
public final class TierLookups {
    private final CountingCache tier;
    private final Id id;
    private @Nullable LoadResult result;
    private long nanos;

    public TierLookups(CountingCache tier, Id id) {
        this.tier = tier;
        this.id = id;
    }

    /** Loads the entry without counting the result. */
    public LoadResult lookup() {
        long start = System.nanoTime();
        LoadResult latest = tier.cache().load(id);
        nanos += System.nanoTime() - start;
        if (result == null || latest instanceof LoadResult.Hit) {
            result = latest;
        }
        return latest;
    }

    /** Counts the result of all loads so far. */
    public void count() {
        if (result != null) {
            tier.statistics().count(result, nanos);
        }
    }
}
