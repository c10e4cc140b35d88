package dev.granary.plans;

import dev.granary.plans.nest.AffineIndex;
import dev.granary.plans.nest.LoopIndex;

import org.jspecify.annotations.Nullable;

import java.util.List;

/**
 * The size and place of a cache of a plan.
 *
 * @param array the name of the array
 * @param name the name of the copy in the kernel; that of the memory in its place if elided
 * @param level the number of loops inside of the cache
 * @param triggerLevel the number of loops inside of the place where blocks are copied
 * @param block the sizes of the active block
 * @param origin the first coordinate of the block in each dimension, as a sum of loops outside
 * @param elements the elements that are copied at once
 * @param location the memory of the copy
 * @param bytes the size of the copy in bytes, of one work-item if it is private; 0 if elided
 * @param bufferedLoop the loop whose next block is fetched meanwhile; null without double buffer
 * @param bufferBytes the size of the double buffer in bytes; 0 if there is none
 * @param bufferLocation the memory of the double buffer; null if there is none
 * @param isElided true if thrift leaves the copy out
 * @param isElidedInTails true if thrift leaves the copy out in some incomplete tiles only
 */
public record CacheReport(
        String array,
        String name,
        int level,
        int triggerLevel,
        List<Integer> block,
        List<AffineIndex> origin,
        long elements,
        MemoryLocation location,
        long bytes,
        @Nullable LoopIndex bufferedLoop,
        long bufferBytes,
        @Nullable MemoryLocation bufferLocation,
        boolean isElided,
        boolean isElidedInTails) {
    /** Copies the lists. */
    public CacheReport {
        block = List.copyOf(block);
        origin = List.copyOf(origin);
    }
}
