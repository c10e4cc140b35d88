package dev.granary.plans;

import dev.granary.plans.ArrayCache.MemoryLocation;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopSchedule.ScheduledLoop;

import org.jspecify.annotations.Nullable;

import java.util.List;
import java.util.Set;

/** The rules for a cache that keep work-items from each other's elements. */
final class CacheChecks {
    private CacheChecks() {}

    static void check(PlanLoops loops, PlacedCache cache, Set<ScheduledLoop> covered) {
        PlacedCache source = cache.copiedSource();
        if (source != null && source.location() == MemoryLocation.PRIVATE && cache.isLocal()) {
            throw new IllegalArgumentException("The cache of " + cache.array() + " in local memory"
                    + " cannot copy one in private memory: work-items read no private memory of"
                    + " others");
        }
        checkBuffer(loops, cache, source);
        checkVector(loops, cache);
        checkSize(cache);
        if (!cache.array().role().isReadOnly()) {
            checkWrites(loops, cache, covered);
        }
    }

    private static void checkBuffer(
            PlanLoops loops, PlacedCache cache, @Nullable PlacedCache source) {
        ScheduledLoop loop = cache.bufferedLoop();
        if (loop != null && source != null && loops.position(loop.index()) < source.position()) {
            throw new IllegalArgumentException("The cache of " + cache.array() + " cannot be double"
                    + " buffered along " + loop.index() + ": the cache that it copies has no"
                    + " element of the next iteration; double buffer that one");
        }
    }

    private static void checkVector(PlanLoops loops, PlacedCache cache) {
        if (cache.position() == loops.count() && loops.schedule().vectorized().isPresent()) {
            throw new IllegalArgumentException("The cache of " + cache.array() + " has room for one"
                    + " element, but the innermost loop is vectorized; allow more elements");
        }
    }

    private static void checkSize(PlacedCache cache) {
        long elements;
        try {
            elements = Math.multiplyExact(cache.blocks(), cache.span());
        } catch (ArithmeticException e) {
            elements = Long.MAX_VALUE;
        }
        if (elements > Integer.MAX_VALUE) {
            throw new IllegalArgumentException(
                    "The cache of " + cache.array() + " has 2^31 elements or more");
        }
    }

    /** Refuses blocks of a written array that contain elements of other work-items or groups. */
    private static void checkWrites(
            PlanLoops loops, PlacedCache cache, Set<ScheduledLoop> covered) {
        for (LoopIndex dimension : loops.schedule().nest().extents().keySet()) {
            List<ScheduledLoop> all = loops.variable(dimension);
            for (int outer = 0; outer < all.size(); outer++) {
                for (ScheduledLoop inner : all.subList(outer + 1, all.size())) {
                    if (covered.contains(all.get(outer))
                            && !covered.contains(inner)
                            && loops.isBound(inner)) {
                        throw new IllegalArgumentException("The cache of " + cache.array()
                                + " would contain elements that other work-items write, since "
                                + inner.index() + " is bound and inside of the tiles of "
                                + all.get(outer).index() + "; bind "
                                + all.get(outer).index()
                                + (cache.isLocal() ? "" : ", or use local memory"));
                    }
                }
            }
        }
    }
}
