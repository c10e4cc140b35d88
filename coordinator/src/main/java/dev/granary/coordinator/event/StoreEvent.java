package dev.granary.coordinator.event;

import dev.granary.cache.StoreResult;

import java.time.Duration;

/**
 * End of a store in the local tier, in the background.
 *
 * @param id the digest of the id in hexadecimal digits
 * @param result the result
 * @param bytes the length of the binaries in bytes
 * @param duration the time of the store
 */
public record StoreEvent(String id, StoreResult result, long bytes, Duration duration)
        implements GranaryEvent {}
