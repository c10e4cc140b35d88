package dev.granary.coordinator.tier;

import dev.granary.cache.Entry;
import dev.granary.cache.Primitive;
import dev.granary.cache.Target;
import dev.granary.coordinator.statistics.PrimitiveSource;

import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * The result of a lookup below the memory tier. Lambdas are avoided here and along a local hit:
 * each costs the first hit of a process most of a millisecond.
 *
 * @param origin the entry from which it was restored; empty if it was compiled
 */
public record Found<P extends Primitive>(P primitive, Optional<Stored> origin) {
    /**
     * A restored entry.
     *
     * @param layer the position of the layer; empty for the local tier
     * @param waited the time of the wait for the compile of another process or machine; zero if the
     *     entry was there
     */
    public record Stored(Entry entry, CountedTier tier, OptionalInt layer, Duration waited) {}

    /** Returns the time of the wait for the compile of another process or machine. */
    public Duration waited() {
        return origin.isPresent() ? origin.get().waited() : Duration.ZERO;
    }

    /** Returns the position of the layer; empty if it was compiled or comes from the local tier. */
    public OptionalInt layer() {
        return origin.isPresent() ? origin.get().layer() : OptionalInt.empty();
    }

    public PrimitiveSource source() {
        if (origin.isEmpty()) {
            return PrimitiveSource.COMPILED;
        }
        return layer().isPresent() ? PrimitiveSource.BUCKET : PrimitiveSource.LOCAL;
    }

    /** Returns the target of a restored entry of another namespace; empty for any other. */
    public Optional<Target> otherNamespace() {
        if (origin.isEmpty()) {
            return Optional.empty();
        }
        Target target = origin.get().entry().id().target();
        return target.equals(primitive.descriptor().getId().target())
                ? Optional.empty()
                : Optional.of(target);
    }
}
