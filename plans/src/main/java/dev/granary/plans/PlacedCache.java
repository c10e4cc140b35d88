package dev.granary.plans;

import dev.granary.plans.ArrayCache.CopyStrategy;
import dev.granary.plans.ArrayCache.MemoryLocation;
import dev.granary.plans.nest.ElementType;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.KernelArray.ArrayLayout;
import dev.granary.plans.nest.LoopSchedule.ScheduledLoop;

import org.jspecify.annotations.Nullable;

import java.util.List;

/**
 * A cache at its place among the loops of a plan.
 *
 * @param array the array that is cached, directly or through the source
 * @param source the cache that is copied; null for the array itself
 * @param position the number of loops outside of the cache
 * @param trigger the number of loops outside of the place where blocks are copied
 * @param block the active block
 * @param multiples the loops between trigger and cache, each iteration of which has its own block
 * @param layout the order of the elements of a block
 * @param type the type of the elements
 * @param location the memory
 * @param isElided true if the source is used in place of a copy
 * @param section the condition of the incomplete tiles in which the source is used in place of a
 *     copy; empty for none
 * @param bufferedLoop the loop whose next iteration's blocks are fetched; null for none
 * @param bufferLocation the memory of the next blocks
 * @param isVectorized true for copies by vectors
 * @param strategy the assignment of elements to work-items
 */
record PlacedCache(
        KernelArray array,
        @Nullable PlacedCache source,
        int position,
        int trigger,
        ActiveBlock block,
        List<ScheduledLoop> multiples,
        ArrayLayout layout,
        ElementType type,
        MemoryLocation location,
        boolean isElided,
        String section,
        @Nullable ScheduledLoop bufferedLoop,
        MemoryLocation bufferLocation,
        boolean isVectorized,
        CopyStrategy strategy) {
    /** Returns the nearest cache with a copy, this one included; null for the array. */
    static @Nullable PlacedCache copied(@Nullable PlacedCache cache) {
        PlacedCache result = cache;
        while (result != null && result.isElided) {
            result = result.source;
        }
        return result;
    }

    /** Returns the nearest cache with a copy from which this one copies; null for the array. */
    @Nullable
    PlacedCache copiedSource() {
        return copied(source);
    }

    /** Returns the number of caches between the array and this one. */
    int depth() {
        return source == null ? 0 : source.depth() + 1;
    }

    boolean isLocal() {
        return location == MemoryLocation.LOCAL;
    }

    List<Long> strides() {
        return layout.strides(block.sizes());
    }

    /** Returns the number of elements of memory for one block, gaps of the layout included. */
    long span() {
        return layout.span(block.sizes());
    }

    /** Returns the number of blocks that are copied at once. */
    long blocks() {
        return multiples.stream().mapToLong(ScheduledLoop::count).reduce(1, Math::multiplyExact);
    }

    /** Returns the number of elements that are copied at once. */
    long elements() {
        return Math.multiplyExact(blocks(), block.volume());
    }

    /** Returns the size of the copy in bytes. */
    long bytes() {
        return isElided
                ? 0
                : Math.multiplyExact(Math.multiplyExact(blocks(), span()), type.bytes());
    }

    /**
     * Returns the number of elements of the buffer for the next blocks, for one work-item if it is
     * private.
     *
     * @param items the number of work-items of a work-group
     */
    long bufferElements(long items) {
        if (bufferedLoop == null || isElided) {
            return 0;
        }
        return isLocal() && bufferLocation == MemoryLocation.PRIVATE
                ? Math.ceilDiv(elements(), items)
                : blocks() * span();
    }
}
