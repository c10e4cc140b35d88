package dev.granary.coordinator.statistics;

import dev.granary.cache.TierStatistics;
import dev.granary.coordinator.Granary;
import dev.granary.gpu.composite.CompositeStatistics;

import java.time.Duration;
import java.util.List;

/**
 * Snapshot of the counters of one {@link Granary}. Counters only grow.
 *
 * <p>A call for a handle counts in {@code composites}. If the primitive is created, its nested
 * primitives count there too, and each of its programs counts as a memory hit or miss. A memory
 * miss counts in {@code local}, then in {@code layers}, then in {@code compiled}.
 *
 * @param composites hits and creations of composite primitives, nested ones included
 * @param memoryHits programs that were in memory already
 * @param memoryMisses programs that were not yet in memory
 * @param local the results of the local tier
 * @param layers the results of each bucket, in order
 * @param compiled primitives that were compiled from source
 * @param compiledAgain repeated compiles of a primitive of this process, for another engine
 * @param compileFailures sources that did not compile
 * @param notCacheable primitives that were compiled from source because their id is empty
 * @param refusedByDriver verified binaries that the driver rejected; each was discarded and
 *     compiled again
 * @param recompiledByDriver binaries that the driver accepted but compiled again; each is published
 *     again
 * @param quarantined entries that were not tried because of the quarantine, counted once per tier
 * @param withoutBinaries compiled primitives whose driver returned no binaries
 * @param dropped entries that could not be stored, or not be queued for upload
 * @param leftForLater uploads that were left to the next process
 * @param adopted uploads that were taken over from ended processes
 * @param waited hits in the local tier after a wait for another process
 * @param waitsGivenUp lookups that went on because a wait for another process took too long
 * @param claimsUnavailable lookups that could not wait because claims do not work in the directory
 * @param compileTime the time spent compiling
 * @param timeSaved the stored compile time of all hits, less the time to load them
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
    /** Creates a snapshot with a copy of {@code layers}. */
    public GranaryStatistics {
        layers = List.copyOf(layers);
    }
}
