package dev.granary.coordinator;

import dev.granary.cache.Primitive;
import dev.granary.cache.Target;
import dev.granary.coordinator.statistics.PrimitiveSource;

import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * A primitive with its source and the time of its lookup.
 *
 * @param primitive the primitive, ready to be loaded into an engine
 * @param source where the primitive came from
 * @param layer the position of its bucket or plugged layer, counted from 0; empty for other sources
 * @param from the target of the entry of a cross-namespace hit; empty for any other lookup
 * @param took how long the caller waited
 * @param waited how long of it the lookup waited for the compile of another process or machine,
 *     whose entry it got; zero for any other
 */
public record LookupResult<P extends Primitive>(
        P primitive,
        PrimitiveSource source,
        OptionalInt layer,
        Optional<Target> from,
        Duration took,
        Duration waited) {}
