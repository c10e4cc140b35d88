package dev.granary.gpu.plan;

import org.jspecify.annotations.Nullable;

import java.util.List;

/**
 * The size and place of a cache of a plan.
 *
 * @param array the name of the array
 * @param level the number of loops inside of the cache
 * @param block the sizes of the active block
 * @param elements the elements that are copied at once
 * @param location the memory of the copy
 * @param bytes the size of the copy in bytes, of one work-item if it is private; 0 if elided
 * @param bufferBytes the size of the double buffer in bytes; 0 if there is none
 * @param bufferLocation the memory of the double buffer; null if there is none
 * @param isElided true if thrift leaves the copy out
 */
public record CacheReport(
        String array,
        int level,
        List<Integer> block,
        long elements,
        MemoryLocation location,
        long bytes,
        long bufferBytes,
        @Nullable MemoryLocation bufferLocation,
        boolean isElided) {
    /** Copies the list. */
    public CacheReport {
        block = List.copyOf(block);
    }
}
