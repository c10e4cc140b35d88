package dev.granary.coordinator.event;

import dev.granary.cache.StoreResult;

import java.time.Duration;

/**
 * End of a store in a layer, in the background.
 *
 * @param id the digest of the id in hexadecimal digits
 * @param layer the name of the layer
 * @param result the result
 * @param bytes the length of the binaries in bytes
 * @param duration the time from sending to the result, without the time in the queue. In a pack it
 *     includes the time until the pack is full
 */
public record UploadEvent(
        String id, String layer, StoreResult result, long bytes, Duration duration)
        implements GranaryEvent {}
