package dev.granary.coordinator.statistics;

import dev.granary.cache.DamageKind;

import java.util.Map;

/**
 * Snapshot of the counters of one tier, read one after the other while they may grow.
 *
 * @param hits lookups that found a verified entry
 * @param absent lookups that found nothing
 * @param damaged lookups that found damage, by kind; only kinds that occurred
 * @param unavailable lookups without an answer
 * @param bytesRead bytes of binaries in the hits
 * @param loadNanos time spent in all lookups, in nanoseconds
 * @param stored entries written
 * @param bytesStored bytes written, as stored
 * @param duplicates stores that found the same content
 * @param divergent stores that found different content, which stayed
 * @param refused stores that were rejected
 * @param failed stores that failed
 * @param unknown stores with an unknown outcome
 */
public record TierStatistics(
        long hits,
        long absent,
        Map<DamageKind, Long> damaged,
        long unavailable,
        long bytesRead,
        long loadNanos,
        long stored,
        long bytesStored,
        long duplicates,
        long divergent,
        long refused,
        long failed,
        long unknown) {
    /** Copies the map. */
    public TierStatistics {
        damaged = Map.copyOf(damaged);
    }

    /** Returns the number of lookups that were not hits. */
    public long misses() {
        return absent
                + unavailable
                + damaged.values().stream().mapToLong(Long::longValue).sum();
    }
}
