package dev.granary.coordinator.statistics;

import dev.granary.cache.TierStatistics;
import dev.granary.coordinator.Granary;
import dev.granary.gpu.composite.CompositeStatistics;
import java.time.Duration;
import java.util.List;

/**
 * What one {@link Granary} has done up to a moment. Counters only grow.
 *
 * <p>One call for a handle counts in {@code composites}; a primitive that had to be created counts its nested ones there too, and each of its
 * programs of kernels as a memory hit or miss; each memory miss counts in {@code local}, then in {@code layers}, then in {@code compiled}.
 *
 * @param composites what was done on the level of composite primitives: their hits, and those of nested ones
 * @param memoryHits programs of kernels that were in this process already: hits of the level of kernels
 * @param memoryMisses programs of kernels that were not, or not yet
 * @param local what the local tier answered
 * @param layers what each bucket answered, in their order
 * @param compiled primitives made from source
 * @param compiledAgain times that what was compiled here already was compiled once more, to be loaded into another engine
 * @param compileFailures sources that did not compile
 * @param notCacheable primitives made from source because their id is empty
 * @param refusedByDriver verified binaries that the driver would not take; each was dropped and compiled anew
 * @param recompiledByDriver binaries that the driver took and compiled anew; each is published again
 * @param quarantined entries that were not tried because they ended a process before; one that is in both tiers counts in each
 * @param withoutBinaries compiled primitives whose binaries could not be taken
 * @param dropped entries that could not be stored, or not be kept for upload
 * @param leftForLater uploads that the next process will do
 * @param adopted uploads taken over from processes that ended before
 * @param waited hits in the local tier that another process of this machine stored while this one waited for it
 * @param waitsGivenUp look-ups that went on because waiting for another process took too long
 * @param claimsUnavailable look-ups that could not wait because claims do not work in the directory
 * @param compileTime time spent compiling
 * @param timeSaved stored compile time of all hits, less the time to get them
 */
public record GranaryStatistics(
        CompositeStatistics composites,
        long memoryHits,
        long memoryMisses,
        TierStatistics.Snapshot local,
        List<LayerStatistics> layers,
        long compiled,
        long compiledAgain,
        long compileFailures,
        long notCacheable,
        long refusedByDriver,
        long recompiledByDriver,
        long quarantined,
        long withoutBinaries,
        long dropped,
        long leftForLater,
        long adopted,
        long waited,
        long waitsGivenUp,
        long claimsUnavailable,
        Duration compileTime,
        Duration timeSaved) {
    /** Copies the list. */
    public GranaryStatistics {
        layers = List.copyOf(layers);
    }
}
