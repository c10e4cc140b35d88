package dev.granary.coordinator.lookup;

import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.coordinator.stores.CountingCache;
import org.jspecify.annotations.Nullable;

/**
 * The looks of one look-up into one tier, counted as one result: the hit, else what the first look said. For one thread.
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

    /** Looks, and counts nothing yet. */
    public LoadResult look() {
        long start = System.nanoTime();
        LoadResult found = tier.cache().load(id);
        nanos += System.nanoTime() - start;
        if (result == null || found instanceof LoadResult.Hit) {
            result = found;
        }
        return found;
    }

    /** Counts what came of all looks. */
    public void count() {
        if (result != null) {
            tier.statistics().count(result, nanos);
        }
    }
}
