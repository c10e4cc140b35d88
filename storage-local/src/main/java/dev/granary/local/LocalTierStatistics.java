package dev.granary.local;

/**
 * Statistics of a local tier in this process, beyond the results that its callers saw. Immutable.
 *
 * @param evictions number of entries evicted to stay below the capacity
 * @param bytesEvicted bytes of these entries
 * @param healed number of damaged entries removed by a lookup or replaced by a store
 * @param refusedTooLarge number of stores refused because the entry was larger than the capacity
 * @param inputOutputErrors number of failed file-system operations
 */
public record LocalTierStatistics(
        long evictions,
        long bytesEvicted,
        long healed,
        long refusedTooLarge,
        long inputOutputErrors) {}
