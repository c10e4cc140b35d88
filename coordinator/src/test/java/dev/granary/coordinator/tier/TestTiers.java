package dev.granary.coordinator.tier;

import dev.granary.cache.PersistentCache;
import dev.granary.cache.support.SharedStore;
import dev.granary.coordinator.observe.Counters;
import dev.granary.coordinator.observe.EventDispatcher;
import dev.granary.coordinator.observe.EventKind;
import dev.granary.coordinator.statistics.GranaryStatistics.LayerStatistics;
import dev.granary.coordinator.tier.Tiers.Layer;

import java.util.Iterator;
import java.util.List;
import java.util.Optional;

/** Tiers over the caches of tests, without listeners. */
public final class TestTiers {
    /** The dispatcher without listeners. */
    public static final EventDispatcher NO_LISTENERS =
            new EventDispatcher(List.of(), new Counters());

    private TestTiers() {}

    /** Returns a local tier. */
    public static CountedTier local(PersistentCache cache) {
        return new CountedTier(
                new CacheTier(Tiers.LOCAL, cache, true), EventKind.STORE, NO_LISTENERS);
    }

    /** Returns the only layer, with that time budget. */
    public static Layer layer(PersistentCache cache, TimeBudget budget) {
        BoundedTier bounds = new BoundedTier("bucket", cache, true, budget, Optional.empty());
        return new Layer(
                0,
                new CountedTier(bounds, EventKind.UPLOAD, NO_LISTENERS),
                bounds,
                true,
                Optional.empty(),
                cache instanceof SharedStore store ? Optional.of(store) : Optional.empty());
    }

    /** Returns an opener that returns these buckets in place of the configured ones, in order. */
    public static Tiers.BucketOpener buckets(List<? extends PersistentCache> buckets) {
        Iterator<? extends PersistentCache> next = buckets.iterator();
        return _ -> next.next();
    }

    /** Returns the cause of the last failure, or {@code none}. */
    static String failure(LayerStatistics layer) {
        return layer.failure().orElse("none");
    }
}
