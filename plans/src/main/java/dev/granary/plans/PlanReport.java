package dev.granary.plans;

import dev.granary.gpu.DeviceLimits;
import dev.granary.gpu.Geometry;
import dev.granary.plans.ArrayCache.MemoryLocation;
import dev.granary.plans.nest.IndexExpression.AffineIndex;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopSchedule.ScheduledLoop;

import org.jspecify.annotations.Nullable;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The resources that a plan needs.
 *
 * @param kernel the name of the kernel
 * @param geometry the launch
 * @param groupItems the work-items of a work-group
 * @param localBytes the local memory of a work-group, in bytes
 * @param privateBytes the private memory of the caches for each work-item, in bytes
 * @param constantBytes the arguments in constant memory by array, in bytes
 * @param caches the caches, those of one array from the outermost one
 */
public record PlanReport(
        String kernel,
        Geometry geometry,
        long groupItems,
        long localBytes,
        long privateBytes,
        Map<String, Long> constantBytes,
        List<CacheReport> caches) {
    /** Copies the collections. */
    public PlanReport {
        constantBytes = Map.copyOf(constantBytes);
        caches = List.copyOf(caches);
    }

    static PlanReport of(KernelPlan plan, PlanLoops loops, List<PlacedCache> caches) {
        List<PlacedCache> copied =
                caches.stream().filter(cache -> !cache.isElided()).toList();
        KernelNames names = KernelNames.of(loops, copied);
        TailGuards tails = new TailGuards(loops, copied);
        List<CacheReport> reports = caches.stream()
                .map(cache -> report(cache, loops, names, tails.isElided(cache)))
                .toList();
        return new PlanReport(
                plan.name(),
                plan.geometry(),
                loops.groupItems(),
                bytes(reports, MemoryLocation.LOCAL),
                bytes(reports, MemoryLocation.PRIVATE),
                caches.stream()
                        .filter(cache -> cache.location() == MemoryLocation.CONSTANT)
                        .map(PlacedCache::array)
                        .collect(Collectors.toMap(KernelArray::name, KernelArray::byteSize)),
                reports);
    }

    private static CacheReport report(
            PlacedCache cache, PlanLoops loops, KernelNames names, boolean isElidedInTails) {
        long buffer = cache.bufferElements(loops.groupItems()) * cache.type().bytes();
        ScheduledLoop buffered = buffer == 0 ? null : cache.bufferedLoop();
        PlacedCache copied = PlacedCache.copied(cache);
        return new CacheReport(
                cache.array().name(),
                copied == null ? cache.array().name() : names.cache(copied),
                loops.count() - cache.position(),
                loops.count() - cache.trigger(),
                cache.block().sizes(),
                cache.block().lower(),
                cache.elements(),
                cache.location(),
                cache.bytes(),
                buffered == null ? null : buffered.index(),
                buffer,
                buffered == null ? null : cache.bufferLocation(),
                cache.isElided(),
                isElidedInTails);
    }

    private static long bytes(List<CacheReport> caches, MemoryLocation location) {
        long bytes = 0;
        for (CacheReport cache : caches) {
            bytes += cache.location() == location ? cache.bytes() : 0;
            bytes += cache.bufferLocation() == location ? cache.bufferBytes() : 0;
        }
        return bytes;
    }

    /**
     * Returns the number of work-groups that a compute unit holds at once, if it has the local
     * memory and the work-items of the largest work-group.
     */
    public long residentGroups(DeviceLimits limits) {
        long byItems = limits.groupItems() / groupItems;
        return localBytes == 0 ? byItems : Math.min(byItems, limits.localBytes() / localBytes);
    }

    /**
     * Checks that a device can run the plan.
     *
     * @throws IllegalArgumentException if a limit is exceeded; the message names both sizes
     */
    public void check(DeviceLimits limits) {
        if (groupItems > limits.groupItems()) {
            throw new IllegalArgumentException("The plan of " + kernel + " has " + groupItems
                    + " work-items in a work-group, the device at most " + limits.groupItems()
                    + "; use smaller tiles for the loops bound to work-items");
        }
        for (int i = 0; i < geometry.dimensions(); i++) {
            if (geometry.local().get(i) > limits.groupSizes().get(i)) {
                throw new IllegalArgumentException("The plan of " + kernel + " has "
                        + geometry.local().get(i) + " work-items in dimension " + i
                        + " of a work-group, the device at most "
                        + limits.groupSizes().get(i)
                        + "; bind a smaller loop");
            }
        }
        if (localBytes > limits.localBytes()) {
            throw new IllegalArgumentException("The caches of " + kernel + " need " + localBytes
                    + " bytes of local memory, the device has " + limits.localBytes()
                    + "; use smaller tiles, or a cache of a lower level");
        }
        constantBytes.forEach((array, bytes) -> {
            if (bytes > limits.constantBytes()) {
                throw new IllegalArgumentException("The array " + array + " has " + bytes
                        + " bytes, constant memory of the device " + limits.constantBytes()
                        + "; remove its cache in constant memory");
            }
        });
    }

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
     * @param bufferedLoop the loop whose next block is fetched meanwhile; null without double
     *     buffer
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
}
