package dev.granary.local;

/**
 * What a local tier did in this process up to a moment, beyond the results that its callers saw.
 *
 * @param evictions entries removed to keep the capacity
 * @param bytesEvicted their bytes
 * @param healed damaged entries taken away by a look-up or replaced by a store
 * @param refusedTooLarge stores refused because one entry was larger than the capacity
 * @param inputOutputErrors operations of the file system that failed
 */
public record LocalTierStatistics(
        long evictions, long bytesEvicted, long healed, long refusedTooLarge, long inputOutputErrors) {}
