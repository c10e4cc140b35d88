package dev.granary.coordinator;

import dev.granary.cache.Primitive;
import java.time.Duration;

/**
 * A primitive, and how it was come by.
 *
 * @param primitive the primitive, ready to be loaded into an engine
 * @param source where it came from
 * @param took how long the caller waited
 */
public record Obtained<P extends Primitive>(P primitive, Source source, Duration took) {}
