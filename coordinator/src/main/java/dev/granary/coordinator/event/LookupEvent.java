package dev.granary.coordinator.event;

import dev.granary.cache.Target;
import dev.granary.coordinator.statistics.PrimitiveSource;

import java.time.Duration;
import java.util.Optional;

/**
 * End of a lookup of a program through the tiers.
 *
 * @param id the digest of the id in hexadecimal digits; empty if the id is empty
 * @param target the target of the engine
 * @param source where the primitive came from; empty if the lookup threw an exception. A lookup
 *     that waited for the same one of another thread has the source memory, and no event if that
 *     one failed
 * @param layer the name of the bucket or plugged layer; empty for other sources
 * @param bytes the length of the restored binaries in bytes; 0 for other sources
 * @param duration the time from the miss in memory to the primitive; for a source in memory the
 *     time of the call
 */
public record LookupEvent(
        String id,
        Target target,
        Optional<PrimitiveSource> source,
        Optional<String> layer,
        long bytes,
        Duration duration)
        implements GranaryEvent {}
