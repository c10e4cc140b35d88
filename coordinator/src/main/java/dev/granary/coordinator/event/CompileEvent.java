package dev.granary.coordinator.event;

import dev.granary.cache.Target;

import java.time.Duration;
import java.util.Optional;

/**
 * End of a compile by a lookup. A driver that compiles at the first launch, as PoCL does, spends
 * most of its time later; the counter {@code compile-millis} contains that.
 *
 * @param id the digest of the id in hexadecimal digits; empty if the id is empty
 * @param target the target of the engine
 * @param failure the first line of the error; empty if the source compiled
 * @param duration the time in the engine
 */
public record CompileEvent(String id, Target target, Optional<String> failure, Duration duration)
        implements GranaryEvent {}
