package dev.granary.coordinator;

import dev.granary.cache.Primitive;
import dev.granary.coordinator.statistics.PrimitiveSource;
import java.time.Duration;
import java.util.OptionalInt;

/**
 * A primitive, and how it was come by.
 *
 * @param primitive the primitive, ready to be loaded into an engine
 * @param source where it came from
 * @param layer the position of the bucket, counted from 0, where it came from one
 * @param took how long the caller waited
 */
public record LookupResult<P extends Primitive>(P primitive, PrimitiveSource source, OptionalInt layer, Duration took) {}
